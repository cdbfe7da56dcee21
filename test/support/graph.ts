/** Draws what each service of an application is made of, from the registrations, as a Mermaid diagram. */
import { type ServiceName, services } from '../../core/app/services.js';

/** Nearly every service has these: their arrows would hide the others. */
const EVERYWHERE: readonly ServiceName[] = ['config', 'modules', 'clock', 'logger'];

/** A code block of Markdown. An arrow leads from a service to what is made of it. */
export const graphOf = (): string => {
  const names = (Object.keys(services) as ServiceName[]).filter((name) => !EVERYWHERE.includes(name));
  const arrows = names.flatMap((name) =>
    services[name].needs.filter((need) => !EVERYWHERE.includes(need)).map((need) => `  ${need} --> ${name}`),
  );
  return ['```mermaid', 'flowchart LR', ...names.map((name) => `  ${name}`), ...arrows, '```'].join('\n');
};
