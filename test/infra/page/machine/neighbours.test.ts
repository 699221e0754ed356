import { expect, test } from "vitest";
import { neighboursOf } from "../../../../infra/page/machine/neighbours.ts";
import { feedMachine } from "./made-up-machine.ts";

const outage = (id: number, network: string, endedAt: string | null = null) => ({
  id,
  network,
  startedAt: "",
  endedAt,
  machines: 2,
  silent: 2,
  names: [],
  was: "",
});
const at = (address: string, ...states: string[]) =>
  states.map((state, index) => feedMachine({ name: `${address} ${index}`, address, state }));

test.each([
  [
    "nobody else",
    "203.0.113.7",
    at("203.0.113.8", "silent"),
    { network: "203.0.113.7", others: 0, silent: 0 },
  ],
  [
    "two, of which one is silent",
    "203.0.113.7",
    at("203.0.113.7", "ready", "silent"),
    { others: 2, silent: 1 },
  ],
  [
    "IPv6: the first 64 bits count",
    "2001:db8::1",
    at("2001:db8::2", "silent"),
    { network: "2001:db8::/64", others: 1, silent: 1 },
  ],
  ["nobody knows from where", "", at("", "silent"), { network: "", others: 0, outage: null }],
])("%s", (_, address, others, wanted) => {
  const machine = feedMachine({ address, state: "silent" });
  expect(neighboursOf(machine, [machine, ...others], [])).toMatchObject(wanted);
});

test.each([
  ["none", [], null],
  ["over by now", [outage(1, "203.0.113.7", "x")], null],
  ["another network's", [outage(1, "203.0.113.8")], null],
  ["the latest open one", [outage(1, "203.0.113.7"), outage(4, "203.0.113.7"), outage(2, "203.0.113.7")], 4],
])("its outage: %s", (_, outages, id) => {
  expect(neighboursOf(feedMachine(), [], outages).outage?.id ?? null).toBe(id);
});
