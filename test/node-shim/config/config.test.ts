// Tests KubeletConfiguration: defaults, limits and errors. An error is one line, with the field in it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { FlagTexts } from "../../../node-shim/config/flags.ts";
import {
  defaultConfiguration,
  loadConfiguration,
  parseConfiguration,
} from "../../../node-shim/config/config.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const read = (fields: string, flags?: FlagTexts) =>
  parseConfiguration(HEAD + fields, "file", flags).configuration;
const refusal = (text: string, flags?: FlagTexts) => {
  try {
    parseConfiguration(text, "file", flags);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
};

const DEFAULTS = {
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  registerWithTaints: null,
  maxPods: 110,
};

describe("defaults, as SetDefaults_KubeletConfiguration", () => {
  test("no file → the defaults", () => {
    expect(loadConfiguration(undefined)).toEqual(DEFAULTS);
    expect(defaultConfiguration()).toEqual(DEFAULTS);
  });

  test.each([
    ["only apiVersion and kind", "", {}],
    [
      "an update frequency alone → the report frequency is the same",
      "nodeStatusUpdateFrequency: 20s",
      { nodeStatusUpdateFrequencyMs: 20_000, nodeStatusReportFrequencyMs: 20_000 },
    ],
    [
      "an update frequency that equals the default → the report frequency is the same",
      "nodeStatusUpdateFrequency: 10s",
      { nodeStatusReportFrequencyMs: 10_000 },
    ],
    ["an update frequency of 0s → not set", "nodeStatusUpdateFrequency: 0s", {}],
    [
      "a report frequency of 0s → follows the update frequency",
      "nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 0s",
      { nodeStatusUpdateFrequencyMs: 20_000, nodeStatusReportFrequencyMs: 20_000 },
    ],
    [
      "both → each its own",
      "nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1h",
      { nodeStatusUpdateFrequencyMs: 20_000, nodeStatusReportFrequencyMs: 3_600_000 },
    ],
    ["a lease duration of 0 → not set", "nodeLeaseDurationSeconds: 0", {}],
    ["maxPods of 0 → not set", "maxPods: 0", {}],
    ["null → not set", "maxPods: null\nnodeLeaseDurationSeconds:\nregisterWithTaints:\nevictionHard:", {}],
    ["a transition period of 0s → not set", "evictionPressureTransitionPeriod: 0s", {}],
    ["explicitly no thresholds → none, not the defaults", "evictionHard: {}", { evictionHard: {} }],
    [
      "some thresholds → these alone",
      "evictionHard: {memory.available: 1Gi}",
      { evictionHard: { "memory.available": "1Gi" } },
    ],
    [
      "some thresholds, to be merged → the defaults of the others as well",
      "evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true",
      {
        evictionHard: {
          "memory.available": "1Gi",
          "nodefs.available": "10%",
          "nodefs.inodesFree": "5%",
          "imagefs.available": "15%",
          "imagefs.inodesFree": "5%",
        },
      },
    ],
    ["0 images → none: here 0 is a value", "nodeStatusMaxImages: 0", { nodeStatusMaxImages: 0 }],
    [
      "a set field is reported, even if it equals the default",
      "podsPerCore: 0\nregisterNode: true",
      { podsPerCore: 0, registerNode: true },
    ],
    [
      "all fields that affect the Node",
      `registerNode: false
providerID: metal://17
podsPerCore: 10
nodeStatusMaxImages: -1
evictionSoft: {nodefs.available: 15%}
evictionSoftGracePeriod: {nodefs.available: 2m}
evictionMinimumReclaim: {nodefs.available: 1Gi}
evictionPressureTransitionPeriod: 90s
systemReserved: {cpu: 100m}
kubeReserved: {memory: 512Mi}
reservedSystemCPUs: 0-1
enforceNodeAllocatable: []
enableControllerAttachDetach: false
localStorageCapacityIsolation: false`,
      {
        registerNode: false,
        providerID: "metal://17",
        podsPerCore: 10,
        nodeStatusMaxImages: -1,
        evictionSoft: { "nodefs.available": "15%" },
        evictionSoftGracePeriod: { "nodefs.available": "2m" },
        evictionMinimumReclaim: { "nodefs.available": "1Gi" },
        evictionPressureTransitionPeriodMs: 90_000,
        systemReserved: { cpu: "100m" },
        kubeReserved: { memory: "512Mi" },
        reservedSystemCPUs: "0-1",
        enableControllerAttachDetach: false,
        localStorageCapacityIsolation: false,
      },
    ],
    ["explicitly no taints → none", "registerWithTaints: []", { registerWithTaints: [] }],
  ])("%s", (_situation, fields, set) => {
    expect(read(fields)).toEqual({ ...DEFAULTS, ...set });
  });
});

describe("durations, as time.ParseDuration", () => {
  test.each([
    ["1m30s", 90_000],
    ["1.5h", 5_400_000],
    ["1500ms", 1500],
    ["2000000us", 2000],
    ["2000000µs", 2000],
    ["+5s", 5000],
    [".5m", 30_000],
    ["1000400us", 1000],
  ])("%s → %d ms", (text, ms) => {
    expect(read(`nodeStatusReportFrequency: "${text}"`).nodeStatusReportFrequencyMs).toBe(ms);
  });

  test.each(["10", "10 s", "", "s", "1d", "ten"])('"%s" → an error that names the field', (text) => {
    expect(refusal(`${HEAD}nodeStatusUpdateFrequency: "${text}"`)).toBe(
      `file: nodeStatusUpdateFrequency: "${text}" is not a duration such as 10s or 5m`,
    );
  });
});

describe("limits: at → accepted, just over → an error that names the field", () => {
  const taints = (count: number) =>
    Array.from({ length: count }, (_, index) => `\n- {key: k${index}, effect: NoSchedule}`).join("");
  const taint = (key: string, value: string) =>
    `registerWithTaints: [{key: ${key}, value: ${value}, effect: NoExecute}]`;

  test.each([
    ["nodeStatusUpdateFrequency", "nodeStatusUpdateFrequency: 1s", "nodeStatusUpdateFrequency: 999999us"],
    ["nodeStatusUpdateFrequency", "nodeStatusUpdateFrequency: 1h", "nodeStatusUpdateFrequency: 3600001ms"],
    ["nodeStatusUpdateFrequency", "nodeStatusUpdateFrequency: 0s", "nodeStatusUpdateFrequency: -1s"],
    ["nodeStatusReportFrequency", "nodeStatusReportFrequency: 1s", "nodeStatusReportFrequency: 999ms"],
    ["nodeStatusReportFrequency", "nodeStatusReportFrequency: 24h", "nodeStatusReportFrequency: 24h1ms"],
    ["nodeLeaseDurationSeconds", "nodeLeaseDurationSeconds: 1", "nodeLeaseDurationSeconds: -1"],
    ["nodeLeaseDurationSeconds", "nodeLeaseDurationSeconds: 3600", "nodeLeaseDurationSeconds: 3601"],
    ["maxPods", "maxPods: 2147483647", "maxPods: 2147483648"],
    ["shutdownGracePeriod", "shutdownGracePeriod: 1s", "shutdownGracePeriod: 999ms"],
    ["shutdownGracePeriod", "shutdownGracePeriod: 0s", "shutdownGracePeriod: -1s"],
    [
      "shutdownGracePeriodCriticalPods",
      "shutdownGracePeriod: 2s\nshutdownGracePeriodCriticalPods: 1s",
      "shutdownGracePeriod: 2s\nshutdownGracePeriodCriticalPods: 999ms",
    ],
    [
      "shutdownGracePeriodCriticalPods",
      "shutdownGracePeriod: 2s\nshutdownGracePeriodCriticalPods: 2s",
      "shutdownGracePeriod: 2s\nshutdownGracePeriodCriticalPods: 2001ms",
    ],
    ["maxPods", "maxPods: 1", "maxPods: -1"],
    ["maxPods", "maxPods: 1", "maxPods: 1.5"],
    ["podsPerCore", "podsPerCore: 0", "podsPerCore: -1"],
    ["nodeStatusMaxImages", "nodeStatusMaxImages: -1", "nodeStatusMaxImages: -2"],
    [
      "evictionPressureTransitionPeriod",
      "evictionPressureTransitionPeriod: 24h",
      "evictionPressureTransitionPeriod: 24h1ms",
    ],
    ["providerID", `providerID: ${"p".repeat(1024)}`, `providerID: ${"p".repeat(1025)}`],
    ["evictionHard", "evictionHard: {memory.available: 100%}", "evictionHard: {memory.available: 100.1%}"],
    ["evictionHard", "evictionHard: {memory.available: '1'}", "evictionHard: {memory.available: '0'}"],
    [
      "evictionHard.memory.available",
      "evictionHard: {memory.available: 1Gi}",
      "evictionHard: {memory.available: 1}",
    ],
    ["evictionHard", "evictionHard: {pid.available: '1'}", "evictionHard: {pids.available: '1'}"],
    [
      "evictionSoft",
      "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 0s}",
      "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {nodefs.available: 0s}",
    ],
    [
      "evictionSoftGracePeriod",
      "evictionSoftGracePeriod: {memory.available: 0s}",
      "evictionSoftGracePeriod: {memory.available: -1s}",
    ],
    [
      "evictionMinimumReclaim",
      "evictionMinimumReclaim: {memory.available: '0'}",
      "evictionMinimumReclaim: {memory.available: 0%}",
    ],
    ["kubeReserved", "kubeReserved: {pid: '100'}", "kubeReserved: {pids: '100'}"],
    ["systemReserved", "systemReserved: {cpu: '0'}", "systemReserved: {cpu: '-1'}"],
    ["reservedSystemCPUs", "reservedSystemCPUs: 1-1", "reservedSystemCPUs: 2-1"],
    ["reservedSystemCPUs", "reservedSystemCPUs: '0'", "reservedSystemCPUs: '0'\nkubeReservedCgroup: /kube"],
    ["enforceNodeAllocatable", "enforceNodeAllocatable: [pods]", "enforceNodeAllocatable: [pods, pods]"],
    ["enforceNodeAllocatable", "enforceNodeAllocatable: [none]", "enforceNodeAllocatable: [none, pods]"],
    ["enforceNodeAllocatable", "enforceNodeAllocatable: []", "enforceNodeAllocatable: [Pods]"],
    [
      "enforceNodeAllocatable",
      "enforceNodeAllocatable: [system-reserved]\nsystemReservedCgroup: /system",
      "enforceNodeAllocatable: [system-reserved]\nkubeReservedCgroup: /kube",
    ],
    [
      "enforceNodeAllocatable",
      "enforceNodeAllocatable: [kube-reserved-compressible]\nkubeReservedCgroup: /kube",
      "enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /kube",
    ],
    [
      "enforceNodeAllocatable",
      "enforceNodeAllocatable: [none]\ncgroupsPerQOS: false",
      "cgroupsPerQOS: false",
    ],
    ["registerWithTaints", `registerWithTaints:${taints(64)}`, `registerWithTaints:${taints(65)}`],
    ["registerWithTaints.0.key", taint("k".repeat(63), "v"), taint("k".repeat(64), "v")],
    ["registerWithTaints.0.key", taint("example.com/k", "v"), taint("example.com/k/l", "v")],
    ["registerWithTaints.0.value", taint("k", "v".repeat(63)), taint("k", "v".repeat(64))],
    ["registerWithTaints.0.value", taint("k", "a_b"), taint("k", '"a b"')],
  ])("%s: %s | %s", (field, at, over) => {
    expect(() => read(at)).not.toThrow();
    expect(refusal(HEAD + over)).toMatch(new RegExp(`^file: ${field.replaceAll(".", String.raw`\.`)}: .+$`));
  });
});

describe("the container runtime's endpoints", () => {
  const byDefault = {
    containerRuntimeEndpoint: null,
    imageServiceEndpoint: "",
    runtimeRequestTimeout: "2m",
  };

  test.each([
    ["nothing", "", {}],
    ["a socket", "unix:///run/crio/crio.sock", { containerRuntimeEndpoint: "unix:///run/crio/crio.sock" }],
    ["a path alone, as a kubelet takes it", "/run/crio.sock", { containerRuntimeEndpoint: "/run/crio.sock" }],
    ["none", '""', { containerRuntimeEndpoint: "" }],
    [
      "the longest path of a socket",
      `/${"x".repeat(106)}`,
      { containerRuntimeEndpoint: `/${"x".repeat(106)}` },
    ],
  ])("%s → active", (_situation, endpoint, set) => {
    const { active } = parseConfiguration(`${HEAD}containerRuntimeEndpoint: ${endpoint}`, "file");
    expect(active).toMatchObject({ ...byDefault, ...set });
  });

  test("images elsewhere, a timeout of its own, and flags → active; a timeout of 0 → not set", () => {
    const fields = "imageServiceEndpoint: unix:///run/images.sock\nruntimeRequestTimeout: 0s";
    const { active } = parseConfiguration(HEAD + fields, "file");
    expect(active).toMatchObject({ ...byDefault, imageServiceEndpoint: "unix:///run/images.sock" });
    const flags = {
      "container-runtime-endpoint": ["/run/a.sock"],
      "image-service-endpoint": [""],
      "runtime-request-timeout": ["9s"],
    };
    expect(parseConfiguration(HEAD + fields, "file", flags).active).toMatchObject({
      containerRuntimeEndpoint: "/run/a.sock",
      imageServiceEndpoint: "",
      runtimeRequestTimeout: "9s",
    });
  });

  test.each([
    [
      "another protocol",
      "containerRuntimeEndpoint: tcp://127.0.0.1:1",
      'file: containerRuntimeEndpoint: must read unix:///PATH, or "" if there is no container runtime, not "tcp://127.0.0.1:1"',
    ],
    [
      "a path that is not absolute",
      "imageServiceEndpoint: unix://run/a.sock",
      /^file: imageServiceEndpoint: must read unix:\/\/\/PATH.*$/,
    ],
    [
      "a path that is longer than a socket's",
      `containerRuntimeEndpoint: /${"x".repeat(107)}`,
      "file: containerRuntimeEndpoint: is longer than the 107 bytes that a socket's path may have",
    ],
    [
      "an endpoint for images without a runtime",
      'containerRuntimeEndpoint: ""\nimageServiceEndpoint: /run/a.sock',
      "file: imageServiceEndpoint: needs containerRuntimeEndpoint",
    ],
    [
      "a timeout below zero",
      "runtimeRequestTimeout: -1s",
      "file: runtimeRequestTimeout: must be a millisecond at least",
    ],
  ])("%s → refused", (_situation, fields, message) => {
    expect(refusal(HEAD + fields)).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
  });
});

describe("a file that is no configuration → one line that names file and fault", () => {
  test.each([
    [
      "an empty file (fsLoader: no configuration is an error)",
      "",
      "file is empty: it needs apiVersion and kind at least",
    ],
    ["a comment alone", "# soon\n", "file is empty: it needs apiVersion and kind at least"],
    ["not YAML", "a: [", /^file: not YAML: .+$/],
    ["--- alone", "---\n", "file is empty: it needs apiVersion and kind at least"],
    [
      "several documents, the kubelet's second",
      `apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n${HEAD}`,
      /^file: apiVersion: .+$/,
    ],
    ["a list", "- a", "file has no fields: it needs apiVersion and kind at least"],
    ["a word", "kubelet", "file has no fields: it needs apiVersion and kind at least"],
    ["no apiVersion", "kind: KubeletConfiguration", /^file: apiVersion: .+$/],
    [
      "another apiVersion",
      HEAD.replace("v1beta1", "v1"),
      /^file: apiVersion: .*kubelet\.config\.k8s\.io\/v1beta1.*$/,
    ],
    ["another kind", HEAD.replace("Kubelet", "KubeProxy"), /^file: kind: .*KubeletConfiguration.*$/],
    [
      "a field that is mistyped",
      `${HEAD}evictonHard: {}`,
      "file: evictonHard: unknown field; the nearest known name is evictionHard",
    ],
    [
      "a field without effect here, mistyped",
      `${HEAD}clusterDns: []`,
      "file: clusterDns: unknown field; the nearest known name is clusterDNS",
    ],
    [
      "a field in another case",
      `${HEAD}maxpods: 1`,
      "file: maxpods: unknown field; the nearest known name is maxPods",
    ],
    [
      "a field that taints do not have",
      `${HEAD}registerWithTaints: [{key: k, effect: NoSchedule, efect: x}]`,
      "file: registerWithTaints.0.efect: unknown field; the nearest known name is effect",
    ],
    [
      "a taint twice",
      `${HEAD}registerWithTaints: [{key: k, value: a, effect: NoExecute}, {key: k, value: b, effect: NoExecute}]`,
      "file: registerWithTaints: two taints have the same key and effect",
    ],
    [
      "an effect that does not exist",
      `${HEAD}registerWithTaints: [{key: k, effect: No}]`,
      /^file: registerWithTaints\.0\.effect: .+$/,
    ],
    [
      "a taint without an effect",
      `${HEAD}registerWithTaints: [{key: k}]`,
      /^file: registerWithTaints\.0\.effect: .+$/,
    ],
    [
      "a number for a duration",
      `${HEAD}nodeStatusUpdateFrequency: 10`,
      /^file: nodeStatusUpdateFrequency: .+$/,
    ],
    ["a text for a number", `${HEAD}maxPods: "110"`, /^file: maxPods: .+$/],
  ])("%s", (_situation, text, message) => {
    expect(refusal(text)).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
  });

  it.each<[encoding: string, bytes: (text: string) => Buffer]>([
    ["UTF-8 with a byte order mark", (text) => Buffer.from(text)],
    ["UTF-16, as PowerShell writes it", (text) => Buffer.from(text, "utf16le")],
    ["UTF-16 with the high byte first", (text) => Buffer.from(text, "utf16le").swap16()],
  ])("%s → read as a kubelet reads it", (_encoding, bytes) => {
    const { path, remove } = temporaryFolder();
    const file = join(path, "kubelet.yaml");
    writeFileSync(file, bytes(`\uFEFF${HEAD}maxPods: 50 # Genève\n`));
    expect(loadConfiguration(file).maxPods).toBe(50);
    remove();
  });

  it("a file that cannot be read → its name and what to do", () => {
    expect(() => loadConfiguration("/nowhere/kubelet.yaml")).toThrow(
      "--config /nowhere/kubelet.yaml cannot be read (ENOENT): pass a file of configuration",
    );
    const { path, remove } = temporaryFolder();
    expect(() => loadConfiguration(path)).toThrow(`--config ${path} cannot be read (EISDIR)`);
    remove();
  });
});

describe("flags, like the kubelet's", () => {
  test.each<[situation: string, fields: string, flags: FlagTexts, set: object]>([
    ["a flag → wins over the file", "maxPods: 20", { "max-pods": ["30"] }, { maxPods: 30 }],
    ["a flag twice → the last", "", { "max-pods": ["30", "40"] }, { maxPods: 40 }],
    ["a flag of 0 → 0: defaults come before flags", "", { "max-pods": ["0"] }, { maxPods: 0 }],
    [
      "the update frequency by flag → the report frequency stays",
      "",
      { "node-status-update-frequency": ["20s"] },
      { nodeStatusUpdateFrequencyMs: 20_000 },
    ],
    [
      "a flag of a map → in place of the file's, and never merged with the defaults",
      "mergeDefaultEvictionSettings: true\nevictionHard: {nodefs.available: 1Gi}",
      { "eviction-hard": ["memory.available<1Gi, pid.available < 5%", "imagefs.available<1%"] },
      { evictionHard: { "memory.available": "1Gi", "pid.available": "5%", "imagefs.available": "1%" } },
    ],
    ["a flag of an empty map → no thresholds", "", { "eviction-hard": [""] }, { evictionHard: {} }],
    [
      "reservations",
      "kubeReserved: {cpu: 1m}",
      { "kube-reserved": ["cpu=100m,memory=1Gi"], "system-reserved": ["pid=100"], "reserved-cpus": ["0"] },
      {
        kubeReserved: { cpu: "100m", memory: "1Gi" },
        systemReserved: { pid: "100" },
        reservedSystemCPUs: "0",
      },
    ],
    [
      "soft thresholds, half by file and half by flag",
      "evictionSoft: {memory.available: 1Gi}",
      { "eviction-soft-grace-period": ["memory.available=1m"], "eviction-pressure-transition-period": ["0"] },
      {
        evictionSoft: { "memory.available": "1Gi" },
        evictionSoftGracePeriod: { "memory.available": "1m" },
        evictionPressureTransitionPeriodMs: 0,
      },
    ],
    [
      "taints",
      "registerWithTaints: [{key: a, effect: NoSchedule}]",
      { "register-with-taints": ["k=v:NoExecute,l:NoSchedule"] },
      {
        registerWithTaints: [
          { key: "k", value: "v", effect: "NoExecute" },
          { key: "l", effect: "NoSchedule" },
        ],
      },
    ],
    ["an empty list of taints → none", "", { "register-with-taints": [""] }, { registerWithTaints: [] }],
    [
      "booleans, as strconv.ParseBool",
      "",
      {
        "register-node": ["true", "F"],
        "enable-controller-attach-detach": ["0"],
        "local-storage-capacity-isolation": ["T"],
      },
      { registerNode: false, enableControllerAttachDetach: false, localStorageCapacityIsolation: true },
    ],
    ["a negative number", "", { "node-status-max-images": ["-1"] }, { nodeStatusMaxImages: -1 }],
  ])("%s", (_situation, fields, flags, set) => {
    expect(read(fields, flags)).toEqual({ ...DEFAULTS, ...set });
  });

  test.each<[flags: FlagTexts, message: string | RegExp]>([
    [{ "max-pods": ["many"] }, '--max-pods: "many" is not a whole number'],
    [{ "max-pods": ["080"] }, '--max-pods: "080" is not a whole number'],
    [{ "max-pods": ["-1"] }, "--max-pods: must not be a negative number"],
    [{ "max-pods": ["2147483648"] }, /^--max-pods: Too big.*$/],
    [{ "register-node": ["yes"] }, '--register-node: "yes" is neither true nor false'],
    [{ "eviction-hard": ["memory.available=1Gi"] }, '--eviction-hard: "memory.available=1Gi" has no <'],
    [{ "eviction-hard": ["memory.available<0"] }, /^--eviction-hard: .*must be positive.*$/],
    [{ "kube-reserved": ["cpu"] }, '--kube-reserved: "cpu" has no ='],
    [{ "register-with-taints": ["k=v:No"] }, /^--register-with-taints: invalid taint effect: No.*$/],
    [
      { "node-status-update-frequency": ["0"] },
      "--node-status-update-frequency: must be between 1s and 3600s, not 0",
    ],
    [
      { "enforce-node-allocatable": ["pods,all"] },
      /^--enforce-node-allocatable: has "all", which is none of pods, .*$/,
    ],
  ])("%j → one line that names the flag", (flags, message) => {
    expect(refusal(HEAD, flags)).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
  });
});

it("the source of each value, and the fields without effect here", () => {
  const text = `${HEAD}podsPerCore: 3\nmaxPods: 0\nclusterDNS: [10.0.0.10]\nsyncFrequency: 1m\nlogging: null`;
  const { sources, ignored, active } = parseConfiguration(text, "file", { "provider-id": ["a"] });
  expect(sources).toMatchObject({
    podsPerCore: "file",
    maxPods: "default",
    providerID: "--provider-id",
    evictionHard: "default",
  });
  expect(ignored).toEqual(["clusterDNS", "syncFrequency"]);
  expect(active).toMatchObject({ podsPerCore: 3, maxPods: 110, providerID: "a" });
});
