import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isIpv4,
  isLinkLocalUnicast,
  isLoopback,
  isMulticast,
  isUnspecified,
  parseIp,
  parseIpSloppy,
} from "../../../shared/kubernetes/ip.ts";

describe("an address is read into its canonical text", () => {
  test.each([
    ["10.0.0.1", "10.0.0.1"],
    ["2001:DB8:0:0::00a", "2001:db8::a"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["64:ff9b::10.0.0.5", "64:ff9b::a00:5"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:0:2:3:0:0:4", "1::2:3:0:0:4"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ])("%s → %s", (text, canonical) => {
    expect(parseIp(text)).toBe(canonical);
    expect(parseIpSloppy(text)).toBe(canonical);
  });
});

test.each([
  "",
  "10.0.0",
  "10.0.0.256",
  "10.0.0.0x1",
  "1.2.3.4.5",
  ":",
  ":::",
  "1::2::3",
  "1:2:3:4:5:6:7:8::",
  "fe80::1%eth0",
])("%j is no address", (text) => {
  expect(parseIp(text)).toBeNull();
  expect(parseIpSloppy(text)).toBeNull();
});

test.each([
  ["010.001.002.003", "10.1.2.3"],
  ["::ffff:010.0.0.1", "10.0.0.1"],
  ["2001:00db8::1", "2001:db8::1"],
])("only the lenient parser reads %s, as %s", (text, canonical) => {
  expect(parseIp(text)).toBeNull();
  expect(parseIpSloppy(text)).toBe(canonical);
});

describe("the ends of ranges", () => {
  const kinds = { isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast };
  const kindOf = (text: string): string => {
    const ip = parseIp(text);
    if (ip === null) throw new Error(`${text} is no address`);
    const found = Object.entries(kinds).filter(([, is]) => is(ip));
    return found.map(([name]) => name).join() || "other";
  };
  test.each([
    ["0.0.0.0", "isUnspecified"],
    ["0.0.0.1", "other"],
    ["::", "isUnspecified"],
    ["126.255.255.255", "other"],
    ["127.0.0.0", "isLoopback"],
    ["127.255.255.255", "isLoopback"],
    ["128.0.0.0", "other"],
    ["::1", "isLoopback"],
    ["::2", "other"],
    ["223.255.255.255", "other"],
    ["224.0.0.0", "isMulticast"],
    ["239.255.255.255", "isMulticast"],
    ["240.0.0.0", "other"],
    ["feff::", "other"],
    ["ff00::", "isMulticast"],
    ["ff::", "other"],
    ["169.253.255.255", "other"],
    ["169.254.0.0", "isLinkLocalUnicast"],
    ["169.255.0.0", "other"],
    ["fe7f::", "other"],
    ["fe80::", "isLinkLocalUnicast"],
    ["febf:ffff::", "isLinkLocalUnicast"],
    ["fec0::", "other"],
    ["::ffff:127.0.0.1", "isLoopback"],
  ])("%s: %s", (text, kind) => {
    expect(kindOf(text)).toBe(kind);
  });
});

test("a canonical text is read as itself, however the address was written", () => {
  const group = fc.integer({ min: 0, max: 0xffff }).map((number) => number.toString(16));
  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc
      .array(fc.oneof(fc.constant("0"), group), { minLength: 8, maxLength: 8 })
      .map((groups) => groups.join(":")),
  );
  fc.assert(
    fc.property(address, (text) => {
      const ip = parseIp(text);
      if (ip === null) throw new Error("not read");
      expect(parseIp(ip)).toBe(ip);
      expect(isIpv4(ip)).toBe(/^[0-9.]+$/.test(ip));
    }),
  );
});
