// Which URLs a machine may post to: what it says must not be read on the way.
import { expect, it } from "vitest";
import { originOf } from "../../../node-shim/worker-link/origin.ts";

it.each([
  ["https", "https://rollcall.example.com", "https://rollcall.example.com"],
  ["http to this machine", "http://127.0.0.1:8787", "http://127.0.0.1:8787"],
  ["http to this machine by IPv6", "http://[::1]:8787/", "http://[::1]:8787"],
])("%s → used", (_, url, origin) => {
  expect(originOf(url, "--url")).toBe(origin);
});

it.each([
  ["http to another machine", "http://rollcall.example.com", /only https/],
  ["http to a name that begins like this machine", "http://localhost.example.com", /only https/],
  ["a path", "https://rollcall.example.com/x", /must read/],
  ["a user", "https://a@rollcall.example.com", /must read/],
  ["another scheme", "ftp://rollcall.example.com", /must read/],
])("%s → refused", (_, url, message) => {
  expect(() => originOf(url, "--url")).toThrow(message);
});
