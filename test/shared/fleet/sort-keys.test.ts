// Tests that the keys sort as versions and addresses do.
import { describe, expect, it } from "vitest";
import { addressKey, addressRange, neighbourRange, versionKey } from "../../../shared/fleet/sort-keys.ts";

it("versions sort by SemVer's precedence", () => {
  const versions = [
    "0.0.9",
    "0.1.0-1",
    "0.1.0-2",
    "0.1.0-10",
    "0.1.0-alpha",
    "0.1.0-alpha.1",
    "0.1.0-alpha.beta",
    "0.1.0-rc.2",
    "0.1.0-rc.10",
    "0.1.0",
    "0.1.0.1",
    "0.2",
    "0.10.0",
    "v1.0.0+build",
  ];
  expect(versions.toSorted((a, b) => (versionKey(a) < versionKey(b) ? -1 : 1))).toEqual(versions);
  expect(versionKey("0.1")).toBe(versionKey("0.1.0"));
});

it.each(["", "dev", "1.x", "0.1.0-", "1..2", "1234567.0.0"])("%j is no version", (text) => {
  expect(versionKey(text)).toBe("");
});

it("addresses sort by number, IPv4 first", () => {
  const addresses = ["9.0.0.1", "10.0.0.1", "203.0.113.7", "::1", "2001:db8::1"];
  expect(addresses.toSorted((a, b) => (addressKey(a) < addressKey(b) ? -1 : 1))).toEqual(addresses);
  expect([addressKey(""), addressKey("here")]).toEqual(["", ""]);
});

describe("a range", () => {
  it.each([
    ["10.1.2.3", "40a010203", "40a010203"],
    ["10.1.2.3/8", "40a000000", "40affffff"],
    ["10.1.2.3/9", "40a000000", "40a7fffff"],
    ["0.0.0.0/0", "400000000", "4ffffffff"],
    ["2001:db8::/33", `620010db8${"0".repeat(24)}`, `620010db87fff${"f".repeat(20)}`],
  ])("%s → from its first address to its last", (text, from, to) => {
    expect(addressRange(text)).toEqual({ from, to });
  });

  it.each(["", "10.0.0", "10.0.0.0/33", "here"])("%j → none", (text) => {
    expect([addressRange(text), neighbourRange(text)]).toEqual([null, null]);
  });

  it.each([
    ["10.1.2.3", "10.1.2.3/32"],
    ["2001:db8::5:1", "2001:db8::/64"],
  ])("a neighbour of %s is in %s", (address, range) => {
    expect(neighbourRange(address)).toEqual(addressRange(range));
  });
});
