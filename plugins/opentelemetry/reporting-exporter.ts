/** Tells the log when spans do not arrive: once a spell, however many batches it lasts. */
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../../core/contracts/runtime.js';

/** Of the specification's `ExportResult`: the package that names its codes is not ours to import. */
const SUCCESS = 0;

export const reportingExporter = (exporter: SpanExporter, logger: Logger): SpanExporter => {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== SUCCESS) {
          if (lost === 0) logger.warn({ err: result.error }, 'spans could not be delivered, and are lost');
          lost += spans.length;
        } else if (lost > 0) {
          logger.info({ lost }, 'spans are delivered again');
          lost = 0;
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
};
