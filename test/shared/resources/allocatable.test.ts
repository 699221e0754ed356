import { describe, expect, test } from "vitest";
import {
  nodeAllocatableReservation,
  parseReserved,
  validateNodeAllocatable,
  withReservedCpus,
} from "../../../shared/resources/allocatable.ts";
import { subtractQuantities } from "../../../shared/kubernetes/quantity/arithmetic.ts";
import { quantityText } from "../../../shared/kubernetes/quantity/text.ts";
import { zeroQuantity } from "../../../shared/kubernetes/quantity/quantity.ts";
import { parseThresholds } from "../../../shared/resources/eviction.ts";
import { resourceListQuantities, resourceListText } from "../../../shared/kubernetes/resource-list.ts";
import { failure, success, valueOr } from "../../../shared/result.ts";

const reservations = {
  systemReserved: valueOr(parseReserved({ cpu: "100m", memory: "256Mi", "ephemeral-storage": "1Gi" }), {}),
  kubeReserved: valueOr(parseReserved({ cpu: "200m", memory: "512Mi" }), {}),
  hardEvictionThresholds: valueOr(
    parseThresholds({ evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" } }),
    [],
  ),
};

test("allocatable equals a kubelet's with the same reservations", () => {
  const capacity = resourceListQuantities({
    cpu: "2",
    memory: "24684096Ki",
    "ephemeral-storage": "270553174016",
    pods: "110",
  });
  const kept = nodeAllocatableReservation(reservations, capacity);
  const left = Object.entries(capacity).map(([name, amount]) => [
    name,
    quantityText(subtractQuantities(amount, kept[name] ?? zeroQuantity)),
  ]);
  expect(Object.fromEntries(left)).toEqual({
    cpu: "1700m",
    memory: "23795264Ki",
    "ephemeral-storage": "242424114388",
    pods: "110",
  });
});

test.each([
  ["less than half a thousandth → none", "499u", "0"],
  ["half a thousandth → one", "500u", "1m"],
  ["between two thousandths → the upper one from the middle on", "100500u", "101m"],
  ["whole thousandths → the same", "1.5", "1500m"],
])("reserved CPUs, %s", (_, cpu, expected) => {
  expect(resourceListText(valueOr(parseReserved({ cpu, memory: "1500m" }), {}))).toEqual({
    cpu: expected,
    memory: "1500m",
  });
});

test("a resource that the machine lacks → no reservation of it", () => {
  const kept = nodeAllocatableReservation(reservations, resourceListQuantities({ cpu: "2" }));
  expect(resourceListText(kept)).toEqual({ cpu: "300m" });
});

describe("a reservation of the whole capacity", () => {
  test.each([
    ["is fine", "300m", null],
    [
      "with a thousandth more is refused",
      "299m",
      'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 300m but capacity of 299m. ' +
        "Expected capacity >= reservation.",
    ],
  ])("%s", (_, cpu, error) => {
    expect(validateNodeAllocatable(reservations, resourceListQuantities({ cpu }))).toBe(error);
  });
});

describe("CPUs reserved by number", () => {
  const reserved = { systemReserved: { memory: "1Gi", cpu: "1" }, kubeReserved: { cpu: "1", pid: "10" } };

  test("replace both reservations of CPU by their count", () => {
    expect(withReservedCpus(reserved, "0-1,3", 4)).toEqual(
      success({ systemReserved: { memory: "1Gi", cpu: "3" }, kubeReserved: { pid: "10" } }),
    );
  });

  test("change nothing when there are none", () => {
    expect(withReservedCpus(reserved, "", 4)).toEqual(success(reserved));
  });

  test.each([
    ["0", "1"],
    ["3,1", "2"],
    ["0-3", "4"],
    ["0-2,1-3,2", "4"],
    ["1-1", "1"],
  ])("%s are %s", (list, count) => {
    expect(withReservedCpus(reserved, list, 4)).toMatchObject(success({ systemReserved: { cpu: count } }));
  });

  test.each([
    ["4", "reserved-cpus: 4 is not a subset of online-cpus: 0-3"],
    ["0-4", "reserved-cpus: 0-4 is not a subset of online-cpus: 0-3"],
    ["2-1", 'unable to parse reserved-cpus list: invalid range "2-1" (2 > 1)'],
    ["a", 'unable to parse reserved-cpus list: strconv.Atoi: parsing "a": invalid syntax'],
    ["1,", 'unable to parse reserved-cpus list: strconv.Atoi: parsing "": invalid syntax'],
    ["1-2-3", 'unable to parse reserved-cpus list: strconv.Atoi: parsing "2-3": invalid syntax'],
    ["-1", 'unable to parse reserved-cpus list: strconv.Atoi: parsing "": invalid syntax'],
  ])("%s are refused", (list, error) => {
    expect(withReservedCpus(reserved, list, 4)).toEqual(failure(error));
  });
});
