import type { Context } from 'mocha';
import { needPythonPackage } from './python-package.js';

/**
 * Returns a function that runs a Python program with `input` on standard input and resolves with its standard output.
 * Skips the test if pandas is not available.
 */
export const needPandas = async (context: Context): Promise<(program: string, input: string) => Promise<string>> => {
  const python = await needPythonPackage(context, 'pandas');
  return (program, input) => python(['-c', program], input);
};
