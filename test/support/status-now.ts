/**
 * A plugin with the route `/status-now`. It responds like `/status`, but computes each response, whereas `/status` is
 * cached for a minute.
 */
import { definePlugin, serviceRoute } from '../../core/contracts/plugin.js';
import status from '../../plugins/status.js';

export default definePlugin({
  ...status,
  name: 'status-now',
  routes: (options, context) =>
    status.routes!(options, context).flatMap((route) => {
      if (route.kind !== 'service' || route.path !== '/status') return [];
      const { sharedSeconds: _, ...built } = route;
      return [serviceRoute({ ...built, path: '/status-now', operationId: 'getStatusNow' })];
    }),
});
