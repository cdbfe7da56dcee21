import { BlockList, isIPv4, isIPv6 } from 'node:net';

export const groupsOf = (address: string): number[] => {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = dotted
    ? `${dotted[1]}${((+dotted[2]! << 8) | +dotted[3]!).toString(16)}:${((+dotted[4]! << 8) | +dotted[5]!).toString(16)}`
    : address;
  const [head = '', tail] = hex.split('::');
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const left = parse(head);
  if (tail === undefined) return left;
  const right = parse(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
};

/**
 * Removes the zone of an IP address, and converts IPv4-mapped addresses to IPv4. Returns undefined for any other text.
 */
export const plainAddress = (text: string): string | undefined => {
  const address = text.trim().replace(/%.*$/, '');
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? dottedOf(groups.slice(6)) : address;
};

const dottedOf = (groups: readonly number[]): string => groups.flatMap((group) => [group >> 8, group & 255]).join('.');

interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly prefix: number;
}

const masked = (bytes: readonly number[], prefix: number): number[] =>
  bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - i * 8))) & 0xff);

const firstOf = ({ address, family, prefix }: Network): string => {
  if (family === 'ipv4') return masked(address.split('.').map(Number), prefix).join('.');
  const bytes = masked(
    groupsOf(address).flatMap((group) => [group >> 8, group & 255]),
    prefix,
  );
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  const last = groups.findLastIndex((group) => group !== 0) + 1;
  const head = groups.slice(0, last).map((group) => group.toString(16));
  return last === 8 ? head.join(':') : `${head.join(':')}::`;
};

const parseNetwork = (text: string): Network | undefined => {
  const [, written = '', length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = plainAddress(written);
  if (address === undefined) return undefined;
  const isV4 = isIPv4(address);
  const bits = isIPv4(written) ? 32 : 128;
  const given = length === undefined ? bits : Number(length);
  const prefix = isV4 ? given - (bits - 32) : given;
  if (given > bits || prefix < 0) return undefined;
  return { address, family: isV4 ? 'ipv4' : 'ipv6', prefix };
};

export const networkError = (text: string): string | undefined => {
  const network = parseNetwork(text);
  if (!network) return 'it must be an address or a network, such as "10.0.0.0/8" or "fd00::/8"';
  if (network.prefix === 0) return 'it contains every address, so callers could choose their address';
  const first = firstOf(network);
  const isFirst = network.family === 'ipv4' ? first === network.address : same(first, network.address);
  return isFirst
    ? undefined
    : `its address has bits after the first ${network.prefix}; did you mean "${first}/${network.prefix}"?`;
};

const same = (a: string, b: string): boolean => groupsOf(a).join() === groupsOf(b).join();

export const inNetworks = (networks: readonly string[]): ((address: string) => boolean) => {
  const list = new BlockList();
  for (const text of networks) {
    const { address, prefix, family } = parseNetwork(text)!;
    list.addSubnet(address, prefix, family);
  }
  return (address) => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
};
