/** A function of a text that remembers what it found, for texts that come again and again. */
import { BoundedMap } from './bounded-map.js';

/** Longer texts are judged but not remembered, so that nobody can fill the memory with them. */
const REMEMBERED_LENGTH = 200;

/** @param most how many texts it remembers */
export const remember = <T>(judge: (text: string) => T, most = 500): ((text: string) => T) => {
  const known = new BoundedMap<string, T>(most);
  return (text) => {
    let verdict = known.get(text);
    if (verdict === undefined) {
      verdict = judge(text);
      if (text.length <= REMEMBERED_LENGTH) known.set(text, verdict);
    }
    return verdict;
  };
};
