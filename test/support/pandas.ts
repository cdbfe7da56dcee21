import type { Context } from 'mocha';
import { needPythonPackage } from './python-package.js';

/**
 * Skips the test if pandas is not available. The returned function runs a Python program and resolves with its standard
 * output.
 */
export const needPandas = async (context: Context): Promise<(program: string, input: string) => Promise<string>> => {
  const python = await needPythonPackage(context, 'pandas');
  return (program, input) => python(['-c', program], input);
};
