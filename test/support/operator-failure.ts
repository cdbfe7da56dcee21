/** Returns the message of the OperatorError with which the promise rejects. */
import { expect } from 'chai';
import { OperatorError } from '../../core/errors.js';

export const operatorFailure = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    expect(error).to.be.instanceOf(OperatorError);
    return (error as Error).message;
  }
  throw new Error('The work did not fail.');
};
