/** Tests need not detect changes to text, so log messages and descriptions are not mutated. */
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

const isDescription = (path) => path.isObjectProperty() && path.node.key.name === 'description';

const isLogCall = (path) => {
  if (!path.isCallExpression()) return false;
  const { object } = path.node.callee;
  return /logger$/i.test(object?.name ?? object?.property?.name ?? '');
};

const words = {
  shouldIgnore(path) {
    if (isDescription(path)) return 'Descriptions are not tested.';
    if (path.parentPath !== null && isLogCall(path.parentPath)) return 'Log messages are not tested.';
    return undefined;
  },
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'words', words)];
