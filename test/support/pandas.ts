import type { Context } from 'mocha';
import { needPythonPackage } from './python-package.js';

/**
 * Returns a function that runs a Python program with `input` on standard input. The function resolves with standard
 * output. Skips the test if pandas is not available.
 */
export const needPandas = async (context: Context): Promise<(program: string, input: string) => Promise<string>> => {
  const python = await needPythonPackage(context, 'pandas');
  return (program, input) => python(['-c', program], input);
};
