/** What MongoDB says of a unique value that is there already. */
import { MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11000;

/** Whether an id or another unique value was there already, so that nothing has been inserted. */
export const isDuplicate = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;
