/** Who runs this process, and from where, as an audit tells it. */
import { hostname, userInfo } from 'node:os';

/** Containers may run as a user whom the system has no name for. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

/** The environment is the user's own, so that the name behind `sudo` and the address are what the user lets stand. */
const said = (name: string): string | undefined => /^[\w.:@-]{1,64}/.exec(process.env[name] ?? '')?.[0];

export const actor = (): { readonly by: string; readonly host: string } => {
  const behind = said('SUDO_USER');
  const login = said('SSH_CONNECTION');
  return {
    by: behind === undefined ? userName() : `${userName()} (sudo by ${behind})`,
    host: login === undefined ? hostname() : `${hostname()} (ssh from ${login})`,
  };
};
