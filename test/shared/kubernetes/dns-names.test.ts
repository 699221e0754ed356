// Tests which DNS names lead to an address of the name-giver's choice.
import { expect, test } from "vitest";
import { isAddressInDisguise } from "../../../shared/kubernetes/dns-names.ts";

test.each<[name: string, isOne: boolean]>([
  ["edge-1.shop.example.com", false],
  ["nip.io.example.com", false],
  ["notnip.io", false],
  ["10.0.0.1.nip.io", true],
  ["NIP.IO.", true],
  ["a.localhost", true],
  ["localhost.example", false],
  ["127.1", true],
  ["a.0x7f000001", true],
  ["a.0x", true],
  ["2130706433", true],
  ["a.1.", true],
  ["a.1b", false],
  ["under_score.example", false],
  ["127.0.0.１", true],
  ["127.0.0。1", true],
  ["::ffff:127.0.0.1%1", true],
  ["a b.example", true],
])("%s → %s", (name, isOne) => {
  expect(isAddressInDisguise(name)).toBe(isOne);
});
