// Tests that the shim refuses the same fields as a kubelet, though the fields have no effect on the machine: at
// each limit and just over it. kubelet-verdicts.test.ts compares the refusals with a real kubelet's.
import { describe, expect, it, test } from "vitest";
import { parseConfiguration } from "../../../node-shim/config/config.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const read = (fields: string) => parseConfiguration(HEAD + fields, "file");

describe("limits: at → accepted, just over → an error that names the field", () => {
  const list = (field: string, value: string) => `${field}: [${value}]`;

  test.each([
    ["imageGCHighThresholdPercent", "imageGCHighThresholdPercent: 100", "imageGCHighThresholdPercent: 101"],
    ["imageGCLowThresholdPercent", "imageGCLowThresholdPercent: 0", "imageGCLowThresholdPercent: -1"],
    ["imageGCLowThresholdPercent", "imageGCLowThresholdPercent: 84", "imageGCLowThresholdPercent: 85"],
    ["imageGCLowThresholdPercent", "imageGCHighThresholdPercent: 81", "imageGCHighThresholdPercent: 80"],
    ["imageMinimumGCAge", "imageMinimumGCAge: 0s", "imageMinimumGCAge: -1ms"],
    ["imageMaximumGCAge", "imageMaximumGCAge: 0s", "imageMaximumGCAge: -1ms"],
    ["imageMaximumGCAge", "imageMaximumGCAge: 2m1ms", "imageMaximumGCAge: 2m"],
    ["port", "port: 65535", "port: 65536"],
    ["healthzPort", "healthzPort: 65535", "healthzPort: 65536"],
    ["readOnlyPort", "readOnlyPort: 0", "readOnlyPort: -1"],
    ["iptablesDropBit", "iptablesDropBit: 31", "iptablesDropBit: 32"],
    ["iptablesMasqueradeBit", "iptablesMasqueradeBit: 0", "iptablesMasqueradeBit: -1"],
    ["oomScoreAdj", "oomScoreAdj: -1000", "oomScoreAdj: -1001"],
    ["oomScoreAdj", "oomScoreAdj: 1000", "oomScoreAdj: 1001"],
    ["eventBurst", "eventBurst: 0", "eventBurst: -1"],
    ["eventRecordQPS", "eventRecordQPS: 0", "eventRecordQPS: -1"],
    ["kubeAPIBurst", "kubeAPIBurst: 0", "kubeAPIBurst: -1"],
    ["kubeAPIQPS", "kubeAPIQPS: 0", "kubeAPIQPS: -1"],
    ["maxOpenFiles", "maxOpenFiles: 0", "maxOpenFiles: -1"],
    ["registryBurst", "registryBurst: 0", "registryBurst: -1"],
    ["registryPullQPS", "registryPullQPS: 0", "registryPullQPS: -1"],
    ["eventBurst", "eventBurst: 2147483647", "eventBurst: 2147483648"],
    ["maxParallelImagePulls", "maxParallelImagePulls: 1", "maxParallelImagePulls: 0"],
    [
      "maxParallelImagePulls",
      "maxParallelImagePulls: 1\nserializeImagePulls: true",
      "maxParallelImagePulls: 2\nserializeImagePulls: true",
    ],
    ["containerLogMaxWorkers", "containerLogMaxWorkers: 1", "containerLogMaxWorkers: 0"],
    ["containerLogMaxFiles", "containerLogMaxFiles: 2", "containerLogMaxFiles: 1"],
    ["containerLogMonitorInterval", "containerLogMonitorInterval: 3s", "containerLogMonitorInterval: 2999ms"],
    ["containerLogMaxSize", "containerLogMaxSize: 10Mi", "containerLogMaxSize: 10Mib"],
    ["memoryThrottlingFactor", "memoryThrottlingFactor: 1", "memoryThrottlingFactor: 1.01"],
    ["memoryThrottlingFactor", "memoryThrottlingFactor: 0.01", "memoryThrottlingFactor: 0"],
    ["syncFrequency", "syncFrequency: 0s", "syncFrequency: -1ms"],
    ["cpuCFSQuotaPeriod", "cpuCFSQuotaPeriod: 1s", "cpuCFSQuotaPeriod: 1001ms"],
    ["cpuCFSQuotaPeriod", "cpuCFSQuotaPeriod: 1ms", "cpuCFSQuotaPeriod: 999us"],
    [
      "crashLoopBackOff",
      "crashLoopBackOff: { maxContainerRestartPeriod: 1s }",
      "crashLoopBackOff: { maxContainerRestartPeriod: 999ms }",
    ],
    [
      "crashLoopBackOff",
      "crashLoopBackOff: { maxContainerRestartPeriod: 300s }",
      "crashLoopBackOff: { maxContainerRestartPeriod: 300001ms }",
    ],
    ["userNamespaces", "userNamespaces: { idsPerPod: 65536 }", "userNamespaces: { idsPerPod: 65535 }"],
    [
      "userNamespaces",
      "userNamespaces: { idsPerPod: 4294901760 }",
      "userNamespaces: { idsPerPod: 4294967296 }",
    ],
    ["qosReserved", "qosReserved: { memory: 100% }", "qosReserved: { memory: 101% }"],
    [
      "tracing",
      "tracing: { samplingRatePerMillion: 1000000 }",
      "tracing: { samplingRatePerMillion: 1000001 }",
    ],
    ["tracing", "tracing: { samplingRatePerMillion: 0 }", "tracing: { samplingRatePerMillion: -1 }"],
    ["podLogsDir", "podLogsDir: /var/log", "podLogsDir: /var//log"],
    ["logging.verbosity", "logging: { verbosity: 0 }", "logging: { verbosity: -1 }"],
    ["logging", "logging: { flushFrequency: 1ns }", "logging: { flushFrequency: -1ms }"],
    [
      "allowedUnsafeSysctls",
      list("allowedUnsafeSysctls", `net.${"a".repeat(249)}`),
      list("allowedUnsafeSysctls", `net.${"a".repeat(250)}`),
    ],
    [
      "reservedMemory",
      "reservedMemory: [{ numaNode: 0, limits: { memory: 1 } }, { numaNode: 1, limits: { memory: 1 } }]",
      "reservedMemory: [{ numaNode: 0, limits: { memory: 1 } }, { numaNode: 0, limits: { memory: 1 } }]",
    ],
  ])("%s: %s | %s", (field, at, over) => {
    expect(read(at).ignored.length).toBeGreaterThan(0);
    expect(() => read(over)).toThrow(new RegExp(`^file: ${field.replaceAll(".", String.raw`\.`)}: .+$`));
  });
});

describe("a fault → one line that names the field", () => {
  test.each([
    ["syncFrequency: 60", "syncFrequency: must be a duration such as 10s or 5m"],
    ["clusterDNS: 10.0.0.10", "clusterDNS: must be a list"],
    ["clusterDNS: [1]", "clusterDNS.0: must be a text"],
    ["authentication: []", "authentication: must be a map"],
    [
      "authentication: { anonymous: { enabled: 1 } }",
      "authentication.anonymous.enabled: must be true or false",
    ],
    [
      "authentication: { anonymos: {} }",
      "authentication: has no field anonymos; the nearest known name is anonymous",
    ],
    [
      "topologyManagerPolicy: most-effort",
      'topologyManagerPolicy: must be one of none, best-effort, restricted, single-numa-node, not "most-effort"',
    ],
    [
      "memorySwap: { swapBehavior: All }",
      'memorySwap: swapBehavior must be one of NoSwap, LimitedSwap, not "All"',
    ],
    [
      "featureGates: { MemoryQos: true }",
      "featureGates: unrecognized feature gate: MemoryQos; the nearest known name is MemoryQoS",
    ],
  ])("%s", (fields, message) => {
    expect(() => read(fields)).toThrow(`file: ${message}`);
  });
});

const SYSCTLS = "featureGates: { DefaultPodSysctls: true }\ndefaultPodSysctls: ";

describe("what one of the releases accepts → accepted; what both refuse → refused", () => {
  it.each([
    ["a field of 1.37 alone", `${SYSCTLS}{ net.ipv4.ip_forward: "1", kernel.domainname: example.com }`],
    ["an empty field of 1.37, without its gate", "defaultPodSysctls: {}"],
    ["a gate that 1.37 has turned on", "memoryReservationPolicy: TieredReservation"],
    ["a gate that 1.37 has locked", "featureGates: { HostnameOverride: false }"],
    ["a gate that 1.37 no longer has", "featureGates: { SidecarContainers: true }"],
    ["a gate of 1.37 alone", "featureGates: { HugepageAwareEviction: false }"],
    [
      "gates of either release in one file",
      "featureGates: { SidecarContainers: true, EmptyDirVolumeMode: true }",
    ],
    ["all of alpha, as with 1.36", "featureGates: { AllAlpha: true }"],
    ["hidden metrics of the release before 1.36", 'showHiddenMetricsForVersion: "1.35"'],
    ["hidden metrics of the release before 1.37", 'showHiddenMetricsForVersion: "1.36"'],
    [
      "a factor that 1.37 refuses without MemoryQoS",
      "featureGates: { MemoryQoS: false }\nmemoryThrottlingFactor: 0.8",
    ],
    ["sysctls that are namespaced from 1.37 on", "allowedUnsafeSysctls: [kernel.domainname, user.*]"],
    ["a sysctl with slashes", "allowedUnsafeSysctls: [net/ipv4/conf/eth0.100/rp_filter]"],
  ])("%s", (_, fields) => {
    expect(read(fields).active.maxPods).toBe(110);
  });

  it.each([
    [
      "no gate",
      'defaultPodSysctls: { net.core.somaxconn: "1" }',
      "requires the feature gate DefaultPodSysctls",
    ],
    ["a pattern", `${SYSCTLS}{ "net.*": "1" }`, '"net.*" is no sysctl'],
    ["no name", `${SYSCTLS}{ Net.core: "1" }`, '"Net.core" is no sysctl, and no pattern of some'],
    [
      "of the whole machine",
      `${SYSCTLS}{ vm.swappiness: "1" }`,
      'the sysctls "vm.swappiness" are not known to be namespaced',
    ],
    [
      "twice, in two notations",
      `${SYSCTLS}{ net.ipv4.ip_forward: "1", net/ipv4/ip_forward: "1" }`,
      "has net.ipv4.ip_forward twice",
    ],
    ["no text", `${SYSCTLS}{ net.ipv4.ip_forward: 1 }`, "must be a text"],
  ])("defaultPodSysctls, %s → refused", (_, fields, message) => {
    expect(() => read(fields)).toThrow(message);
  });

  it("hidden metrics of an earlier release → refused", () => {
    expect(() => read('showHiddenMetricsForVersion: "1.34"')).toThrow("must be one of 1.35, 1.36, not");
  });
});

describe("a file as a kubelet reads it", () => {
  it.each<[situation: string, fields: string, value: object]>([
    [
      "yes and off are booleans",
      "registerNode: yes\ncgroupsPerQOS: off\nenforceNodeAllocatable: []",
      { registerNode: true, cgroupsPerQOS: false },
    ],
    ["the last of equal keys counts", "maxPods: 20\nmaxPods: 30", { maxPods: 30 }],
    [
      "the same in a map",
      "evictionHard: { pid.available: 10%, pid.available: 20% }",
      { evictionHard: { "pid.available": "20%" } },
    ],
    ["a number in another notation", "maxPods: 0x14", { maxPods: 20 }],
    ["a date is a text", "providerID: 2026-01-01", { providerID: "2026-01-01" }],
  ])("%s", (_, fields, value) => {
    expect(read(fields).active).toMatchObject(value);
  });

  it.each<[situation: string, file: string, unread: string[]]>([
    ["a trailing ---", "maxPods: 20\n---\n", []],
    ["a trailing --- and a comment", "maxPods: 20\n---\n# end\n", []],
    ["a leading ---", "maxPods: 20\n...\n", []],
    [
      "kubeadm's further documents",
      "maxPods: 20\n---\napiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n",
      ["only the file's first document counts, as for a kubelet"],
    ],
    [
      "a later document with a fault",
      "maxPods: 20\n---\na: [\n",
      ["only the file's first document counts, as for a kubelet"],
    ],
  ])("%s → the first document counts, and the others are named", (_, file, unread) => {
    const loaded = read(file);
    expect([loaded.active.maxPods, loaded.unread]).toEqual([20, unread]);
  });

  it("names the keys that are there twice, and their place", () => {
    expect(read("maxPods: 20\nmaxPods: 30\n").unread).toEqual([
      "the last of equal keys counts: Map keys must be unique at line 4, column 1",
    ]);
    expect(read("maxPods: 20").unread).toEqual([]);
  });
});
