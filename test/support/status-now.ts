/** The route `/status-now` works like `/status` but is not cached. */
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
