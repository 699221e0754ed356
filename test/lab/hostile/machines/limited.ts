// Makes reports at each limit, and one over it. shared/protocol/limits.ts has the numbers. The Worker must refuse a
// report over a limit.
import {
  CUSTOM_LIMITS as CUSTOM,
  DROP_IN_LIMITS as DROP_IN,
  FACTS_LIMITS as FACTS,
  FEATURE_LIMITS as FEATURES,
  INVENTORY_LIMITS as INVENTORY,
  LIMITS,
  NAME_LIMITS as NAME,
  SETTINGS_LIMITS as SETTINGS,
} from "../../../../shared/protocol/limits.ts";
import type { Settings } from "../../../../shared/protocol/settings.ts";
import { type Draft, entries, long, many } from "./draft.ts";

/**
 * Changes a draft so that it is at a limit (`over` 0) or just over it (`over` 1). `salt` makes each report differ.
 */
type Reach = (draft: Draft, over: 0 | 1, salt: string) => void;

const resource = (salt: string) => (at: number) => `example.com/r${at}-${salt}`;
const label = (salt: string) => (at: number) => `example.com/l${at}-${salt}`;
const image = (name: string) => ({ repoDigests: [], repoTags: [name], sizeBytes: 1 });
const condition = (type: string, message = "") =>
  ({ type, status: "True", reason: "Because", message, expiresInSeconds: 60 }) as const;

const ofFacts: Record<string, Reach> = {
  "a feature's name": ({ facts }, over) =>
    void (facts.features = {
      flags: { "cpu.cpuid": [long("A", FEATURES.keyLength + over)] },
      attributes: {},
      instances: {},
    }),
  "PCI devices": ({ facts }, over, salt) =>
    void (facts.features = {
      flags: {},
      attributes: {},
      instances: {
        "pci.device": {
          attributes: ["device"],
          rows: many(FEATURES.instances + over, (at) => [`${at}-${salt}`]),
        },
      },
    }),
  images: ({ facts }, over, salt) =>
    void (facts.images = many(FACTS.images + over, (at) => image(`${salt}-${at}`))),
  "an image's name": ({ facts }, over, salt) =>
    void (facts.images = [image(long(salt, FACTS.imageNameLength + over))]),
  "names of an image": ({ facts }, over, salt) =>
    void (facts.images = [
      { repoDigests: [], repoTags: many(FACTS.namesPerImage + over, (at) => `${salt}-${at}`), sizeBytes: 1 },
    ]),
  "a machine ID": ({ facts }, over) =>
    void (facts.machine!.systemUUID = long("system", FACTS.idLength + over)),
  cores: ({ facts }, over) => void (facts.machine!.cores = FACTS.cores + over),
  memory: ({ facts }, over) => void (facts.machine!.memoryBytes = Number.MAX_SAFE_INTEGER + over),
  "huge pages": ({ facts }, over) =>
    void (facts.machine!.hugePages = many(FACTS.hugePageSizes + over, (at) => ({
      pageSizeKiB: 2 ** at,
      pages: 1,
    }))),
  "a version": ({ facts }, over, salt) =>
    void (facts.versions = { kernel: long(salt, FACTS.textLength + over), osImage: "Linux" }),
  addresses: ({ facts }, over) =>
    void (facts.addresses!.lookup = many(FACTS.addresses + over, (at) => `10.20.1.${at}`)),
  "extended resources": ({ facts }, over, salt) =>
    void (facts.devices = {
      capacity: entries(FACTS.extendedResources + over, resource(salt), (at) => at),
      allocatable: {},
      removed: [],
    }),
  "a resource's name": ({ facts }, over, salt) =>
    void (facts.devices = {
      // A quota's key is "requests." and the resource's name: together at most 253 characters, the length of a
      // domain.
      capacity: { [`${long(salt.toLowerCase(), 240 + over * 10)}.io/${long("r", 63)}`]: 1 },
      allocatable: {},
      removed: [],
    }),
  "a resource's amount": ({ facts }, over, salt) =>
    void (facts.devices = {
      capacity: { [resource(salt)(0)]: Number.MAX_SAFE_INTEGER + over },
      allocatable: {},
      removed: [],
    }),
  volumes: ({ facts }, over, salt) =>
    void (facts.volumes = { synced: true, inUse: many(FACTS.volumes + over, (at) => `${salt}-${at}`) }),
  "attach limits": ({ facts }, over, salt) =>
    void (facts.attachLimits = entries(
      FACTS.attachLimits + over,
      (at) => `${salt}-${at}`,
      () => 1,
    )),
  "runtime handlers": ({ facts }, over, salt) =>
    void (facts.runtimeHandlers = many(FACTS.runtimeHandlers + over, (at) => ({
      name: long(`${at}-${salt}`, FACTS.handlerNameLength),
      supportsRecursiveReadOnlyMounts: true,
      supportsUserNamespaces: true,
    }))),
  "custom facts": ({ facts }, over, salt) =>
    void (facts.custom = entries(
      CUSTOM.entries + over,
      (at) => `${salt}-${at}`,
      () => long(salt, CUSTOM.valueLength),
    )),
};

const ofTheOperators: Record<string, Reach> = {
  disks: ({ facts }, over, salt) =>
    void (facts.inventory = { disks: many(INVENTORY.disks + over, (at) => ({ model: `${salt} ${at}` })) }),
  "a model": ({ facts }, over, salt) =>
    void (facts.inventory = { gpus: [{ model: long(salt, INVENTORY.textLength + over) }] }),
  "a drop-in's resources": ({ facts }, over, salt) =>
    void (facts.dropIns!.resources = entries(DROP_IN.resources + over, resource(salt), (at) => at)),
  "a drop-in's labels": ({ facts }, over, salt) =>
    void (facts.dropIns!.labels = entries(DROP_IN.labels + over, label(salt), () => salt)),
  "a label's value": ({ facts }, over, salt) =>
    void (facts.dropIns!.labels = { "example.com/l": long(salt, NAME.labelValueLength + over) }),
  conditions: ({ facts }, over, salt) =>
    void (facts.dropIns!.conditions = many(DROP_IN.conditions + over, (at) =>
      condition(`Example${at}`, salt),
    )),
  "a condition's message": ({ facts }, over, salt) =>
    void (facts.dropIns!.conditions = many(16, (at) =>
      condition(`Example${at}`, long(salt, DROP_IN.messageLength + over)),
    )),
  failures: ({ facts }, over, salt) =>
    void (facts.dropIns!.failures = many(DROP_IN.dropIns + over, (at) => ({
      name: `${at}`,
      error: long(salt, DROP_IN.messageLength),
    }))),
};

const ofSettings: Record<string, Reach> = {
  "labels of the settings": ({ facts }, over, salt) =>
    void (facts.settings.nodeLabels = entries(SETTINGS.nodeLabels + over, label(salt), () => salt)),
  taints: ({ facts }, over, salt) =>
    void (facts.settings.registerWithTaints = many(SETTINGS.taints + over, (at) => ({
      key: `example.com/t${at}-${salt}`,
      effect: "NoSchedule" as const,
    }))),
  "a provider ID": ({ facts }, over, salt) =>
    void (facts.settings.providerID = long(`aws:///eu-west-1a/${salt}`, SETTINGS.providerIDLength + over)),
};

/** The settings that are amounts. Each is sent at its minimum, at its maximum, and beyond. */
export const AMOUNTS = [
  "nodeStatusUpdateFrequencyMs",
  "nodeStatusReportFrequencyMs",
  "nodeLeaseDurationSeconds",
  "evictionPressureTransitionPeriodMs",
  "maxPods",
  "podsPerCore",
  "nodeStatusMaxImages",
] as const satisfies readonly (keyof Settings & keyof typeof SETTINGS)[];

const ofAmounts = Object.fromEntries(
  AMOUNTS.flatMap((setting): [string, Reach][] => {
    const [least, most] = SETTINGS[setting];
    return [
      [`the least ${setting}`, ({ facts }, over) => void (facts.settings[setting] = least - over)],
      [`the most ${setting}`, ({ facts }, over) => void (facts.settings[setting] = most + over)],
    ];
  }),
);

/** The limits whose excess makes the Worker refuse the whole report. */
const ofReports: Record<string, Reach> = {
  "a body": (draft, over) => void (draft.padTo = LIMITS.bodyBytes + over),
  errors: ({ vitals }, over, salt) =>
    void (vitals.errors = {
      runtime: many(LIMITS.errorsPerSource + over, () => long(salt, LIMITS.textLength)),
    }),
  "an error": ({ vitals }, over, salt) =>
    void (vitals.errors = { network: [long(salt, LIMITS.textLength + over)] }),
  "a signal": ({ vitals }, over) =>
    void (vitals.signals["pid.available"] = [Number.MAX_SAFE_INTEGER + over, Number.MAX_SAFE_INTEGER]),
};

export const REACHES = Object.entries({
  ...ofFacts,
  ...ofTheOperators,
  ...ofSettings,
  ...ofAmounts,
  ...ofReports,
});
