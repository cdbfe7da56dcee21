/** A Mocha reporter for `.ci/run`. Prints like `spec`, and adds the path of each failed test to the file `$FAILED_FILES`. */
const { appendFileSync } = require('node:fs');
const { reporters, Runner } = require('mocha');

module.exports = class FailedFiles extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.on(Runner.constants.EVENT_TEST_FAIL, ({ file }) => {
      appendFileSync(process.env.FAILED_FILES, `${file}\n`);
    });
  }
};
