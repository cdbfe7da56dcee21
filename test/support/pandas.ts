/** Python programs with pandas. */
import type { Context } from 'mocha';
import { needPythonPackage } from './python-package.js';

/**
 * Runs a Python program on `input`, for a test that needs pandas: skips it, with the reason, where that cannot be had.
 * @returns what the program printed
 */
export const needPandas = async (context: Context): Promise<(program: string, input: string) => Promise<string>> => {
  const python = await needPythonPackage(context, 'pandas');
  return (program, input) => python(['-c', program], input);
};
