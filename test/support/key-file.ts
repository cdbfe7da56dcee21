import type { KeyRecord } from '../../core/contracts/keys.js';
import { keyFilePieces } from '../../core/keys/key-file.js';

export const formatKeyFile = (keys: readonly KeyRecord[]): string => [...keyFilePieces(keys)].join('');
