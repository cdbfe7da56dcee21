/** Takes keys out of texts that others will see. */
import { KEY_PREFIX } from './key-format.js';

const KEYS = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]+`, 'g');

/** Whatever looks like a key becomes `mfk_***`. */
export const maskKeys = (text: string): string =>
  text.includes(KEY_PREFIX) ? text.replace(KEYS, `${KEY_PREFIX}***`) : text;
