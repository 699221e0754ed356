// Tests ranges of IP addresses.
import { expect, test } from "vitest";
import { contains, parseCidr } from "../../../shared/kubernetes/cidr.ts";
import { parseIp } from "../../../shared/kubernetes/ip.ts";

test.each([
  "10.0.0.0",
  "10.0.0.0/",
  "10.0.0.0/33",
  "10.0.0.0/08",
  "10.0.0.0/-1",
  "2001:db8::/129",
  "/8",
  "a/8",
  "10.0.0.0/8/8",
])("%s is no range", (text) => {
  expect(parseCidr(text)).toBeNull();
});

test.each([
  ["10.0.0.0/8", "10.255.255.255", true],
  ["10.0.0.0/8", "11.0.0.0", false],
  ["10.1.2.3/8", "10.9.9.9", true],
  ["192.168.4.0/22", "192.168.7.255", true],
  ["192.168.4.0/22", "192.168.8.0", false],
  ["192.168.4.1/32", "192.168.4.1", true],
  ["192.168.4.1/32", "192.168.4.2", false],
  ["0.0.0.0/0", "203.0.113.9", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["::/0", "2001:db8::1", true],
  ["::/0", "10.0.0.1", false],
  ["2001:db8::/33", "2001:db8:7fff::1", true],
  ["2001:db8::/33", "2001:db8:8000::1", false],
  ["2001:db8::1/128", "2001:db8::1", true],
  ["::ffff:10.0.0.0/8", "10.1.1.1", true],
])("%s has %s: %s", (range, ip, isWithin) => {
  expect(contains(parseCidr(range)!, parseIp(ip)!)).toBe(isWithin);
});
