/** Content negotiation: what `Accept` and `Accept-Encoding` allow, remembered by header value. */
import Negotiator from 'negotiator';
import { remember } from '../remember.js';

export type Encoding = 'br' | 'gzip' | 'identity';

// The published types of negotiator 0.6 do not know the second argument that version 1 takes.
type ChooseEncodings = (available: readonly string[], options: { preferred: readonly string[] }) => string[];

const judgeEncoding = remember((value): Encoding => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': value } });
  const encodings = negotiator.encodings.bind(negotiator) as ChooseEncodings;
  const [best] = encodings(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return (best as Encoding | undefined) ?? 'identity';
});

/** The best encoding that the client takes; identity where it takes none, as RFC 9110 12.5.3 permits. */
export const chooseEncoding = (acceptEncoding: string | undefined): Encoding =>
  acceptEncoding === undefined ? 'identity' : judgeEncoding(acceptEncoding);

/** Judges `Accept` against what an endpoint offers: the best offer, or undefined where all are excluded. */
export const mediaTypeChooser = <Offer extends { readonly mediaType: string }>(offers: readonly Offer[]) => {
  const types = offers.map(({ mediaType }) => mediaType);
  const judge = remember((value) => {
    const [best] = new Negotiator({ headers: { accept: value } }).mediaTypes(types);
    return offers.find(({ mediaType }) => mediaType === best) ?? null;
  });
  return (accept: string | undefined): Offer | undefined =>
    accept === undefined ? offers[0] : (judge(accept) ?? undefined);
};
