// Makes the acts of a hostile machine, by kind. Each act follows the protocol's schemas, and abuses the protocol.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import { SETTINGS_LIMITS } from "../../../../shared/protocol/limits.ts";
import type { Random } from "../random.ts";
import { type Draft, type Ids, long, many, noDropIns, wellDraft } from "./draft.ts";
import { AMOUNTS, REACHES } from "./limited.ts";
import { type Trick, TRICKS } from "./tricks.ts";

export type Act = { kind: string } & (
  | { does: "report"; draft: Draft; isOver: boolean; trick?: Trick; times?: number }
  /** Reports that are sent at the same time. */
  | { does: "report at once"; drafts: Draft[] }
  /** Enrols under further names that the machine's token allows, and sends each name's reports one after the other. */
  | { does: "use names"; uses: { name: string; drafts: Draft[] }[] }
  /** The machine's requests that are no reports. `name` belongs to another machine. */
  | { does: "rotate" }
  | { does: "leave" }
  | { does: "ask for a name"; name: string }
);

/** The names and other values of other machines that a hostile machine claims. */
export interface Coveted {
  /** The names of Nodes of honest machines and of kubelets. */
  names: readonly string[];
  labels: readonly string[];
  conditions: readonly string[];
  resources: readonly string[];
}

/** The inputs of an act. */
export interface Draw {
  random: Random;
  index: number;
  name: string;
  /** A text that differs for each act, for values that must not repeat. */
  salt: string;
  ids: Ids;
  coveted: Coveted;
}

export type Kind = (draw: Draw) => Act;

const report = (kind: string, draft: Draft, isOver = false): Act => ({ kind, does: "report", draft, isOver });
const well = ({ name, ids, index }: Draw) => wellDraft(name, ids, index);

function changed(kind: string, change: (draft: Draft, draw: Draw) => void): Kind {
  return (draw) => {
    const draft = well(draw);
    change(draft, draw);
    return report(kind, draft);
  };
}

const bigImages = (salt: string) =>
  many(60, (at) => ({ repoDigests: [], repoTags: [long(`${salt}-${at}`, 1000)], sizeBytes: 1000 - at }));

export function reachLimits(draw: Draw): Act {
  const { index, salt } = draw;
  const [what, reach] = REACHES[Math.floor(index / 2) % REACHES.length]!;
  const draft = well(draw);
  const over = (index % 2) as 0 | 1;
  reach(draft, over, salt);
  return report(`${over ? "over" : "at"} a limit: ${what}`, draft, over === 1);
}

/**
 * Makes reports that alternate: Ready with a small Node, then not Ready with a large one. A not-Ready report does
 * not wait for the budget of bytes.
 */
export const flap = changed("flaps, large and small", ({ facts, vitals }, { index, salt }) => {
  if (index % 2 === 0) return;
  facts.settings.nodeStatusMaxImages = -1;
  facts.images = bigImages(salt);
  vitals.errors = { runtime: [salt] };
});

export const images = changed("images that alternate", ({ facts }, { index, salt }) => {
  if (index % 2 === 0) return;
  facts.settings.nodeStatusMaxImages = -1;
  facts.images = bigImages(salt);
});

export const conditions = changed("conditions that flap", ({ facts, vitals }, { random, salt }) => {
  const { signals } = vitals;
  for (const signal of ["memory.available", "nodefs.available", "pid.available"] as const)
    if (random.chance(0.5)) signals[signal] = [0, 1000];
  // Without a transition period of 0, a pressure condition would not end within the run.
  facts.settings.evictionPressureTransitionPeriodMs = 0;
  vitals.shuttingDown = random.chance(0.3);
  if (random.chance(0.5)) vitals.errors = { storage: [salt] };
});

export const events = changed("events", ({ vitals }, { random, salt }) => {
  vitals.signals["imagefs.available"] = random.chance(0.5) ? [0, 0] : [1000, 1000];
  if (random.chance(0.3)) vitals.setupError = long(salt, 1024);
});

/** Makes reports with a device plugin's resources, which come and go. Only the machine itself sets them. */
export const devices = changed("devices that come and go", ({ facts }, { random, salt }) => {
  const names = [`example.com/d-${salt}`, "example.com/gpu", "other.example/gpu"];
  const capacity = Object.fromEntries(names.map((name) => [name, random.int(1000)]));
  const removed = random.chance(0.3) ? ["example.com/gone"] : [];
  facts.devices = { capacity, allocatable: capacity, removed, recorded: random.chance(0.5) };
});

export const inventory = changed("an inventory that changes", ({ facts }, { salt }) => {
  facts.settings.inventoryLabels = true;
  facts.inventory = { gpus: many(8, () => ({ model: salt })), system: { vendor: salt, model: salt } };
});

export const settings = changed("settings at their extremes", ({ facts }, { random }) => {
  for (const name of AMOUNTS)
    if (random.chance(0.7)) facts.settings[name] = random.pick(SETTINGS_LIMITS[name]);
  for (const name of ["enableControllerAttachDetach", "volumeLimits", "keepTerminatedPodVolumes"] as const)
    facts.settings[name] = random.chance(0.5);
});

/** Names that lead to another host than the machine, as the machine with the name `name` may report them. */
const foreignNames = (name: string, others: readonly string[]) => [
  ...others,
  `${name}.attacker.example`,
  `${name}.169.254.169.254.nip.io`,
  `${name}.10-0-0-1.sslip.io`,
  `${name}.0x7f.1`,
  `${name}.shop.example.com`,
  `x.${name}.shop.example.com`,
  "localhost",
  "kubernetes",
];

const FOREIGN_IPS = [
  "127.0.0.1",
  "169.254.169.254",
  "224.0.0.1",
  "::1",
  "fe80::1",
  "192.0.2.9",
  "10.20.30.1",
];

/** Makes reports with values beyond the machine's token, in every possible way. */
export const beyond = changed("more than its token says", ({ facts }, { random, salt, name, coveted }) => {
  const labels = {
    [random.pick(coveted.labels)]: salt,
    tier: salt,
    "topology.kubernetes.io/zone": salt,
    [`example.com/l-${random.int(4)}`]: salt,
    [`other.example/l-${random.int(4)}`]: salt,
  };
  const types = [random.pick(coveted.conditions), `Example${random.int(4)}`, `Other${random.int(4)}`];
  const ip = random.pick(FOREIGN_IPS);
  const names = foreignNames(name, coveted.names);
  facts.settings.hostname = random.chance(0.8) ? random.pick(names).slice(0, 63) : name;
  const rollcalls = { "rollcall.dev/machine": salt, "rollcall.dev/deployment": salt, "rollcall.dev/x": salt };
  facts.settings.nodeLabels = random.chance(0.5) ? { ...labels, ...rollcalls } : {};
  facts.settings.registerWithTaints = [
    { key: "example.com/t", effect: "NoExecute" },
    { key: "tenant", value: salt, effect: "NoSchedule" },
    { key: "node.kubernetes.io/not-ready", effect: "NoExecute" },
  ];
  facts.settings.providerID = random.chance(0.5) ? `gce://${salt}` : "";
  facts.dropIns = {
    ...noDropIns(),
    labels: random.chance(0.5) ? labels : {},
    resources: { [random.pick(coveted.resources)]: random.int(9), "other.example/r": 1 },
    conditions: [...new Set(types)].map((type) => {
      return { type, status: "True", reason: "Because", message: salt, expiresInSeconds: 3600 } as const;
    }),
  };
  facts.addresses = { nodeIPs: [], lookup: [ip], onInterface: [ip], defaultRoute: { ipv4: "10.20.30.2" } };
  if (random.chance(0.4)) Object.assign(facts, cloudOf(random, salt, names));
});

/** Texts that no host name has, and that programs read as addresses. */
const UNLIKE_NAMES = ["127.0.0.１", "169.254.169。254", "::ffff:127.0.0.1%1", "edge.169.254.169.254%eth0"];

function cloudOf(random: Random, salt: string, names: readonly string[]): Pick<Facts, "cloud"> {
  return {
    cloud: {
      providerID: `aws:///us-east-1/${salt}`,
      instanceType: salt,
      zone: salt,
      region: salt,
      addresses: [
        { type: "ExternalIP", address: random.pick(FOREIGN_IPS) },
        { type: "InternalDNS", address: random.pick([...names, ...UNLIKE_NAMES]) },
      ],
    },
  };
}

export const clouds = changed("clouds", ({ facts }, { random, salt, name, coveted }) => {
  facts.settings.cloudProvider = random.pick(["external", "aws", "gce", "azure", "file"] as const);
  if (random.chance(0.8)) Object.assign(facts, cloudOf(random, salt, foreignNames(name, coveted.names)));
});

/** Makes reports as of two machines with one key, in turns: A, B, A, B. */
export const clones: Kind = (draw) => {
  const { ids, index, name } = draw;
  const who = index % 2 === 0 ? ids : { ...ids, startId: `${ids.startId}-b`, bootID: `${ids.bootID}-b` };
  return report("as two machines", wellDraft(name, who, index));
};

export const tricks: Kind = (draw) => {
  const trick = draw.random.pick(TRICKS);
  return { kind: `request: ${trick}`, does: "report", draft: well(draw), isOver: false, trick };
};

/**
 * Makes ten reports one after the other, without a pause. No report overtakes another: the Worker would take that
 * for a copy of the machine.
 */
export const floods: Kind = (draw) => ({
  kind: "ten without a pause",
  does: "report",
  draft: well(draw),
  isOver: false,
  times: 10,
});

/** Makes two reports at once with different labels, so that the Worker's patches of one Node conflict. */
export const doubles: Kind = (draw) => {
  const drafts = ["a", "b"].map((half) => {
    const draft = well(draw);
    draft.facts.settings.nodeLabels = { [`example.com/l-${draw.random.int(4)}`]: `${draw.salt}-${half}` };
    return draft;
  });
  return { kind: "two reports at once", does: "report at once", drafts };
};

/** Makes reports of a further name of the same token. All have a large Node; `areReady`: whether each one is Ready. */
function furtherName({ salt, index }: Draw, name: string, areReady: readonly boolean[]) {
  const drafts = areReady.map((isReady, at) => {
    const draft = wellDraft(name, { startId: name, bootID: name, machineID: name }, index + at);
    draft.facts.settings.nodeStatusMaxImages = -1;
    draft.facts.images = bigImages(salt);
    if (!isReady) draft.vitals.errors = { runtime: [salt] };
    return draft;
  });
  return { name, drafts };
}

/** Makes the reports of a further name, whose state flaps. */
export const names: Kind = (draw) => ({
  kind: "further names, large and flapping",
  does: "use names",
  uses: [furtherName(draw, `${draw.name}-n${draw.salt}`, [true, false, true, false])],
});

/** The number of names whose Nodes together exceed the bytes that a join token has at once, and in a minute. */
const CROWD = 80;

/** Makes one report of each of many further names, so that a short run too exceeds the bytes of a join token. */
export const crowd: Kind = (draw) => ({
  kind: "many further names, large",
  does: "use names",
  uses: many(CROWD, (at) => furtherName(draw, `${draw.name}-c${draw.salt}-${at}`, [true])),
});

export const leaves = (): Act => ({ kind: "leaves and enrols again", does: "leave" });

export const keys: Kind = ({ random, coveted }) => {
  if (random.chance(0.9)) {
    return { kind: "asks for another's name", does: "ask for a name", name: random.pick(coveted.names) };
  }
  return { kind: "rotates", does: "rotate" };
};
