/** Lists the forms in which a secret can leak, such as Base64 and hashes. */
import { createHash } from 'node:crypto';

/** This number of successive characters counts as a leak of the secret, because an attacker could guess the rest. */
const PART = 24;

/**
 * Returns the Base64 text of the secret at each offset within a longer text. Omits characters that depend on adjacent
 * bytes.
 */
const base64 = (text: string, encoding: 'base64' | 'base64url'): string[] =>
  [0, 1, 2].map((before) => {
    const whole = Buffer.from(`${'\0'.repeat(before)}${text}`).toString(encoding);
    return whole.slice(before === 0 ? 0 : 4, Math.floor((before + text.length) / 3) * 4);
  });

interface SecretForms {
  readonly readable: ReadonlyMap<string, string>;
  /** Hashes of the secret. Key stores can contain them, but not the secret. */
  readonly hashes: ReadonlyMap<string, string>;
}

const formsOf = (secret: string): SecretForms => {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const sha256 = createHash('sha256').update(secret).digest();
  const readable: [string, string][] = [
    ['its beginning', secret.slice(0, PART)],
    ['its end', secret.slice(-PART)],
    ['hex', hex.slice(0, PART * 2)],
    ['upper-case hex', hex.slice(0, PART * 2).toUpperCase()],
    ['percent-encoding', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['upper-case percent-encoding', [...bytes].map((byte) => `%${byte.toString(16).toUpperCase()}`).join('')],
    ['JSON escapes', [...secret].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')],
    ['UTF-16', Buffer.from(secret, 'utf16le').toString('latin1')],
    ...base64(secret, 'base64').map((text, i): [string, string] => [`base64 from ${i}`, text]),
    ...base64(secret, 'base64url').map((text, i): [string, string] => [`base64url from ${i}`, text]),
  ];
  return {
    readable: new Map(readable),
    hashes: new Map([
      ['SHA-256', sha256.toString('hex')],
      ['upper-case SHA-256', sha256.toString('hex').toUpperCase()],
      ['SHA-256 in base64', sha256.toString('base64').slice(0, -2)],
      ['SHA-256 as bytes', sha256.toString('latin1')],
      ['SHA-1', createHash('sha1').update(secret).digest('hex')],
      ['MD5', createHash('md5').update(secret).digest('hex')],
    ]),
  };
};

/**
 * Text that is searched for secrets. Binary data is decoded as Latin-1. If `keepsHashes` is true, the text may contain
 * hashes.
 */
export interface Place {
  readonly name: string;
  readonly text: string;
  readonly keepsHashes?: boolean;
}

export const findSecrets = (places: readonly Place[], secrets: Readonly<Record<string, string>>): string[] => {
  const forms = Object.entries(secrets).map(([name, secret]) => [name, formsOf(secret)] as const);
  return places.flatMap(({ name: place, text, keepsHashes }) =>
    forms.flatMap(([name, { readable, hashes }]) =>
      [...readable, ...(keepsHashes ? [] : hashes)]
        .filter(([, form]) => text.includes(form))
        .map(([form]) => `${place} has ${form} of the key "${name}"`),
    ),
  );
};
