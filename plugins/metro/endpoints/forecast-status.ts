import type { StatusComponent } from 'metro-forecast-api/plugin';
import { newestRuns } from './shared.js';

const pipeline: StatusComponent = { id: 'pipeline', replaces: 'storage' };

const model: StatusComponent = {
  id: 'model',
  async check({ snapshot }) {
    if (!snapshot) return { status: 'unknown', message: 'No dataset has been loaded.', updated_at: null };
    const runs = await newestRuns(snapshot).catch(() => undefined);
    if (!runs) return { status: 'unknown', message: 'The runs cannot be read at the moment.', updated_at: null };
    const completed = runs.find(({ status }) => status === 'completed');
    if (!completed) return { status: 'unknown', message: 'No run has been completed.', updated_at: null };
    // The failed run in the synthetic dataset is an example, so it does not count as an error.
    const failed = !snapshot.manifest.synthetic && runs.find(({ status }) => status !== 'running')?.status === 'failed';
    return {
      status: failed ? 'degraded' : 'operational',
      message: failed ? 'The newest run failed. The previous run is served.' : null,
      updated_at: completed.run_at,
    };
  },
};

export const components: readonly StatusComponent[] = [pipeline, model];
