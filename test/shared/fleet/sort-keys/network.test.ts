// Tests which addresses belong to one network.
import { expect, it } from "vitest";
import { networkOf } from "../../../../shared/fleet/sort-keys.ts";

it.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
  ["", ""],
  ["a name", ""],
])("%s → %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
