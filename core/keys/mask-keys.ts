/** Takes keys out of texts that others will see. */

/**
 * What follows the prefix of a key, whatever the prefix is. A shorter piece of a key leaves 11 random digits to guess,
 * which are 65 bits; it may be an ordinary name or a trace id.
 */
const SECRETS = /_[0-9A-Za-z]{33,}/g;

/** Keys become `prefix_***`. */
export const maskKeys = (text: string): string => (text.includes('_') ? text.replace(SECRETS, '_***') : text);

export const holdsKey = (text: string): boolean => maskKeys(text) !== text;
