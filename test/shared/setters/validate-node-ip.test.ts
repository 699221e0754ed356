import { describe, expect, test } from "vitest";
import { failure, success } from "../../../shared/result.ts";
import { validateNodeIP } from "../../../shared/setters/validate-node-ip.ts";
import { ip } from "./run-setter.ts";

const INTERFACES = ["127.0.0.1", "10.0.0.5", "2001:db8::5", "169.254.1.1", "fe80::1"];

describe("validateNodeIP", () => {
  test.each([
    { situation: "an IPv4 address of an interface", address: "10.0.0.5", outcome: null },
    { situation: "an IPv6 address of an interface", address: "2001:db8::5", outcome: null },
    { situation: "no address at all", address: null, outcome: "nodeIP must be a valid IP address" },
    { situation: "loopback", address: "127.0.0.1", outcome: "nodeIP can't be loopback address" },
    { situation: "loopback in IPv6", address: "::1", outcome: "nodeIP can't be loopback address" },
    { situation: "multicast", address: "224.0.0.1", outcome: "nodeIP can't be a multicast address" },
    {
      situation: "link-local, though an interface has it",
      address: "169.254.1.1",
      outcome: "nodeIP can't be a link-local unicast address",
    },
    {
      situation: "link-local in IPv6, though an interface has it",
      address: "fe80::1",
      outcome: "nodeIP can't be a link-local unicast address",
    },
    { situation: "all zeros", address: "0.0.0.0", outcome: "nodeIP can't be an all zeros address" },
    {
      situation: "an address of another machine",
      address: "10.0.0.6",
      outcome: `node IP: "10.0.0.6" not found in the host's network interfaces`,
    },
  ])("$situation → $outcome", ({ address, outcome }) => {
    const interfaces = () => success(INTERFACES.map(ip));
    expect(validateNodeIP(address === null ? null : ip(address), interfaces)).toBe(outcome);
  });

  test("the interfaces cannot be read → that error", () => {
    expect(validateNodeIP(ip("10.0.0.5"), () => failure("route ip+net: no such network interface"))).toBe(
      "route ip+net: no such network interface",
    );
  });
});
