// Runs the recordings of quantities, resources, eviction and the values of a node's configuration.
import {
  allocatableWithoutEviction,
  isAttachableVolumeResourceName,
  taintsFlag,
} from "../upstream/resources.ts";
import {
  capacityQuantities,
  memoryBesideHugePages,
  nodeAllocatableReservation,
  parseReserved,
  validateNodeAllocatable,
} from "../../../shared/resources/allocatable.ts";
import { capacityOf } from "../../../shared/from-report/parsed-settings.ts";
import { deviceResources } from "../../../node-shim/sources/devices/resources.ts";
import { parseConfiguration } from "../../../node-shim/config/config.ts";
import { gatesOf } from "../../../node-shim/config/known-gates.ts";
import {
  addQuantities,
  compareQuantities,
  roundUpQuantity,
  subtractQuantities,
} from "../../../shared/kubernetes/quantity/arithmetic.ts";
import { mustParseQuantity, parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { quantityText } from "../../../shared/kubernetes/quantity/text.ts";
import {
  isZero,
  newMilliQuantity,
  newQuantity,
  type Quantity,
  scaledValueOf,
  signOf,
  valueOf,
  withAmount,
} from "../../../shared/kubernetes/quantity/quantity.ts";
import {
  hugePageResourceName,
  isExtendedResourceName,
  isHugePageResourceName,
  isNativeResourceName,
  isPrefixedNativeResourceName,
} from "../../../shared/kubernetes/resource-names.ts";
import { parseTaints, parseTaintsFlag } from "../../../shared/kubernetes/taints.ts";
import {
  asInt64,
  milliValueOf,
  negateQuantity,
  newScaledQuantity,
  parseQuantityJson,
  quantityJson,
} from "../upstream/quantity.ts";
import { parseThresholds } from "../../../shared/resources/eviction.ts";
import { resourceListQuantities, resourceListText } from "../../../shared/kubernetes/resource-list.ts";
import { labelKeyErrors, labelValueErrors } from "../../../shared/kubernetes/validation.ts";
import { isKubeletLabel, parseNodeLabels, validateNodeLabels } from "../../../shared/kubernetes/labels.ts";
import { getHostname, validateNodeName } from "../../../shared/node/node-name.ts";
import type { Family, Json } from "../family.ts";
import { evictions } from "./evictions.ts";
import { errorOrNull, valueOr } from "../../../shared/result.ts";

const described = (quantity: Quantity): Json => ({
  error: null,
  string: quantityText(quantity),
  format: quantity.format,
  value: String(valueOf(quantity)),
  milliValue: String(milliValueOf(quantity)),
  sign: signOf(quantity),
  isZero: isZero(quantity),
  asInt64: asInt64(quantity)?.toString() ?? null,
  json: quantityJson(quantity),
});

const outcome = (quantity: Quantity): Json => ({
  string: quantityText(quantity),
  format: quantity.format,
  value: String(valueOf(quantity)),
});

const operands = ({ a, b }: Json): [Quantity, Quantity] => [mustParseQuantity(a), mustParseQuantity(b)];

const quantityOperations: Record<string, (given: Json) => Json> = {
  parse({ string }) {
    const parsed = parseQuantity(string);
    return parsed.ok ? described(parsed.value) : { error: parsed.error };
  },
  add: (given) => outcome(addQuantities(...operands(given))),
  sub: (given) => outcome(subtractQuantities(...operands(given))),
  deepCopyAfterAdd: (given) => ({ string: quantityText(addQuantities(...operands(given))) }),
  cmp(given) {
    const cmp = compareQuantities(...operands(given));
    return { cmp, equal: cmp === 0 };
  },
  neg({ a }) {
    const quantity = negateQuantity(mustParseQuantity(a));
    return { string: quantityText(quantity), format: quantity.format };
  },
  set: ({ a, value }) => described(withAmount(mustParseQuantity(a), BigInt(value), 0)),
  setMilli: ({ a, value }) => described(withAmount(mustParseQuantity(a), BigInt(value), -3)),
  newQuantity: ({ value, format }) => described(newQuantity(BigInt(value), format)),
  newMilliQuantity: ({ value, format }) => described(newMilliQuantity(BigInt(value), format)),
  newScaledQuantity: ({ value, scale }) => described(newScaledQuantity(BigInt(value), scale)),
  scaledValue: ({ a, scale }) => ({ value: String(scaledValueOf(mustParseQuantity(a), scale)) }),
  roundUp({ a, scale }) {
    const { quantity, exact } = roundUpQuantity(mustParseQuantity(a), scale);
    return { exact, string: quantityText(quantity) };
  },
  json({ json }) {
    const parsed = parseQuantityJson(json);
    if (!parsed.ok) return { error: parsed.error };
    return { error: null, format: parsed.value.format, json: quantityJson(parsed.value) };
  },
};

function capacity({ machineInfo }: Json): Json {
  const machine = {
    numCores: machineInfo.numCores,
    memoryCapacityBytes: BigInt(machineInfo.memoryCapacity),
    hugePages: machineInfo.hugePages.map(({ pageSize, numPages }: Json) => ({
      pageSizeKiB: BigInt(pageSize),
      numPages: BigInt(numPages),
    })),
  };
  const amounts = capacityQuantities(machine);
  const formats = Object.entries(amounts).map(([name, { format }]) => [name, format]);
  return { capacity: resourceListText(amounts), formats: Object.fromEntries(formats) };
}

function allocatable(given: Json): Json {
  const kube = parseReserved(given.kubeReserved);
  const system = parseReserved(given.systemReserved);
  const hard = parseThresholds({ evictionHard: given.evictionHard });
  if (!kube.ok) return { parseError: kube.error };
  if (!system.ok) return { parseError: system.error };
  if (!hard.ok) return { parseError: hard.error };
  const reservations = {
    kubeReserved: kube.value,
    systemReserved: system.value,
    hardEvictionThresholds: hard.value,
  };
  const amounts = resourceListQuantities(given.capacity);
  return {
    parseError: null,
    reservation: resourceListText(nodeAllocatableReservation(reservations, amounts)),
    allocatableWithoutEviction: resourceListText(allocatableWithoutEviction(reservations, amounts)),
    validateError: validateNodeAllocatable(reservations, amounts),
  };
}

function hugePagesOf(capacity: Json): { pageSizeKiB: number; pages: number }[] {
  return Object.entries(resourceListQuantities(capacity)).flatMap(([name, amount]) =>
    isHugePageResourceName(name) ? { pageSizeKiB: 1, pages: Number(valueOf(amount)) / 1024 } : [],
  );
}

function memoryAvailable({ availableBytes, capacity }: Json): Json {
  const [left] = memoryBesideHugePages(Number(availableBytes), 0, hugePagesOf(capacity));
  return { availableBytes: String(left) };
}

function featureGate({ release, name }: Json): Json {
  const { gates, needs } = gatesOf(release);
  const { stage, isOn, isLocked } = gates.get(name) ?? {};
  return { stage, on: isOn, locked: isLocked, needs: [...(needs.get(name) ?? [])].sort() };
}

function configurationFault({ configuration }: Json): Json {
  try {
    parseConfiguration(JSON.stringify(configuration), "file");
    return { error: null };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Runs the shim's counts of device plugins. They list a deleted resource in each report, the recording only once. */
function devices({ steps }: Json): Json {
  let nowMs = 0;
  let resources = deviceResources({ registered: [], removed: [] }, () => nowMs);
  let removedBefore: readonly string[] = [];
  return steps.map(({ op, resource, socket, devices: list, ms }: Json) => {
    if (op === "connect") resources.connected(resource, socket);
    if (op === "list")
      resources.listed(
        resource,
        list.map(([ID, health]: [string, string]) => ({ ID, health })),
      );
    if (op === "disconnect") resources.lost(resource, socket);
    if (op === "pass") nowMs += ms;
    if (op === "restart") resources = deviceResources(resources.known(), () => nowMs);
    const { capacity, allocatable, removed } = resources.counts();
    const deleted = removed.filter((name) => !removedBefore.includes(name)).sort();
    removedBefore = removed;
    return { capacity, allocatable, deleted };
  });
}

const taintOperations: Record<string, (given: Json) => Json> = {
  parseTaints({ spec }) {
    const parsed = parseTaints(spec);
    return { ...valueOr(parsed, { taints: [], taintsToRemove: [] }), error: errorOrNull(parsed) };
  },
  registerWithTaintsFlag({ value }) {
    const parsed = parseTaintsFlag(value);
    const taints = parsed.ok ? parsed.value.taints : [];
    return {
      taints: taints.length > 0 ? taints : null,
      error: errorOrNull(parsed),
      string: taintsFlag(taints),
    };
  },
};

const labelOperations: Record<string, (given: Json) => Json> = {
  validateNodeLabels: ({ nodeLabels }) => ({ error: validateNodeLabels(nodeLabels) }),
  isKubeletLabel: ({ key }) => ({ isKubeletLabel: isKubeletLabel(key) }),
  qualifiedName: ({ value }) => ({ errors: labelKeyErrors(value) }),
  labelValue: ({ value }) => ({ errors: labelValueErrors(value) }),
  nodeLabelsFlag: ({ values }) => ({ labels: Object.assign({}, ...values.map(parseNodeLabels)) }),
  resourceName: ({ name }) => ({
    isExtendedResource: isExtendedResourceName(name),
    isHugePage: isHugePageResourceName(name),
    isNative: isNativeResourceName(name),
    isPrefixedNative: isPrefixedNativeResourceName(name),
    isAttachableVolume: isAttachableVolumeResourceName(name),
  }),
  hugePageResourceName: ({ pageSizeBytes }) => ({
    name: hugePageResourceName(newQuantity(pageSizeBytes, "BinarySI")),
  }),
};

const nameOperations: Record<string, (given: Json) => Json> = {
  hostname({ hostnameOverride }) {
    const hostname = getHostname(hostnameOverride);
    return { hostname: valueOr(hostname, null), error: errorOrNull(hostname) };
  },
  validateNodeName: ({ name }) => ({ errors: validateNodeName(name) }),
};

const operation = (operations: Record<string, (given: Json) => Json>): Family => ({
  run(given) {
    const run = operations[given.op];
    if (!run) throw new Error(`no operation is named ${given.op}`);
    return run(given);
  },
});

/** Replaces matching error texts by "an error": texts that print Go data structures are not compared. */
const errorOrNot = (field: string, matches: (error: string) => boolean) => (outcome: Json) => {
  const error = outcome[field];
  return typeof error === "string" && matches(error) ? { ...outcome, [field]: "an error" } : outcome;
};

export const resources: Record<string, Family> = {
  ephemeralStorage: {
    run: ({ bytes }) => ({ capacity: resourceListText(capacityOf(undefined, Number(bytes), true)) }),
  },
  devices: { run: devices },
  memoryAvailable: { run: memoryAvailable },
  featureGates: { run: featureGate },
  kubeletConfiguration: { run: configurationFault },
  quantity: operation(quantityOperations),
  capacityFromMachineInfo: { run: capacity },
  nodeAllocatable: { run: allocatable, comparable: errorOrNot("validateError", () => true) },
  evictionThresholds: evictions,
  taints: {
    ...operation(taintOperations),
    comparable: errorOrNot("error", (error) => error.startsWith("duplicated taints")),
  },
  labels: operation(labelOperations),
  nodeName: operation(nameOperations),
};
