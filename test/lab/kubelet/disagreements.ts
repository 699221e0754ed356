// Lists the configurations that the shim and a kubelet judge differently, with the reason: a table of
// docs/configuration.md.

export interface Disagreement {
  what: string;
  kubelet: string;
  shim: string;
  why: string;
  /** The names of the configurations (configurations.ts) in which the two Nodes differ. */
  configurations: readonly string[];
}

export const DISAGREEMENTS: readonly Disagreement[] = [
  {
    what: "an unknown field of `KubeletConfiguration`",
    kubelet: "the kubelet logs a warning",
    shim: "the shim refuses it, and names the nearest valid name",
    why: "otherwise a mistyped setting would have no effect, and operators rarely visit the machine",
    configurations: [
      "maxPod: 20",
      "MaxPods: 20",
      "registerWithTaints: [{ key: a, efect: NoSchedule }]",
      "authentication: { webhook: { enabled: false }, anonymos: { enabled: false } }",
    ],
  },
  {
    what: "`defaultPodSysctls` without its feature gate",
    kubelet: "a kubelet of 1.36 logs a warning; a kubelet of 1.37 refuses it",
    shim: "the shim refuses it",
    why: "one file shall serve both kubelets",
    configurations: ['defaultPodSysctls: { net.ipv4.ip_forward: "1" }'],
  },
  {
    what: "a feature gate that only 1.36 has, and another that only 1.37 has",
    kubelet: "each kubelet refuses the gate of the other release",
    shim: "the shim accepts them",
    why: "the gates have no effect on the shim",
    configurations: ["featureGates: { SidecarContainers: true, EmptyDirVolumeMode: true }"],
  },
  {
    what: "a duplicate taint, or a taint without an effect, in a file",
    kubelet: "the kubelet accepts it; the apiserver then refuses the Node",
    shim: "the shim refuses it",
    why: "the machine's operator sees the fault and can correct it",
    configurations: [
      "registerWithTaints: [{ key: a }]",
      "registerWithTaints: [{ key: a, effect: NoSchedule }, { key: a, effect: NoSchedule }]",
    ],
  },
  {
    what: "a host name that is not a valid Node name",
    kubelet: "the kubelet accepts it; the apiserver then refuses the Node",
    shim: "the shim refuses it",
    why: "the machine's operator sees the fault and can correct it",
    configurations: [
      "--hostname-override=edge_1",
      "--hostname-override=a..b",
      `--hostname-override=${"a".repeat(64)}`,
    ],
  },
  {
    what: "a `--node-ip` that is not an address",
    kubelet: "the kubelet ignores it",
    shim: "the shim refuses it",
    why: "the Node would have another address than the configured one",
    configurations: ["--node-ip=nowhere", "--node-ip=192.0.2.7,nowhere", "--node-ip=fe80::1%eth0"],
  },
  {
    what: "durations and `nodeLeaseDurationSeconds` beyond [their bounds](#what-it-decides); `evictionPressureTransitionPeriod` below 0 or over 24h",
    kubelet: "the kubelet accepts it",
    shim: "the shim refuses it",
    why: "rollcall limits the load of a machine on the apiserver",
    configurations: [
      "nodeStatusUpdateFrequency: -10s",
      "nodeStatusUpdateFrequency: 500ms",
      "nodeStatusUpdateFrequency: 2h",
      "nodeStatusUpdateFrequency: 1h30m",
      "nodeStatusReportFrequency: 48h",
      "nodeLeaseDurationSeconds: 3601",
      "evictionPressureTransitionPeriod: -1m",
      "evictionPressureTransitionPeriod: 25h",
    ],
  },
  {
    what: "more than 64 taints, a provider ID of more than 1024 characters",
    kubelet: "the kubelet accepts it",
    shim: "the shim refuses it",
    why: "rollcall limits the size of a machine's facts",
    configurations: [
      `providerID: ${"p".repeat(1025)}`,
      `registerWithTaints: [${Array.from({ length: 65 }, (_, at) => `{ key: k${at}, effect: NoSchedule }`).join(", ")}]`,
    ],
  },
  {
    what: "more PIDs reserved than the machine can have",
    kubelet: "the kubelet accepts it, because it does not compare reserved PIDs",
    shim: "the shim refuses it",
    why: "one rule applies to all reservations",
    configurations: ['systemReserved: { pid: "99999999999" }'],
  },
  {
    what: "a flag with underscores, such as `max_pods` for `max-pods`",
    kubelet: "the kubelet accepts it",
    shim: "the shim refuses it",
    why: "each flag has one name",
    configurations: ["--max_pods=20"],
  },
  {
    what: "a kubelet's flag that the tables above do not list, such as the flags for feature gates and verbosity",
    kubelet: "the kubelet accepts it",
    shim: "the shim refuses it",
    why: "a command line is written for one program, whereas a kubelet can use the same file",
    configurations: ["--feature-gates=NodeSwap=true", "--v=3"],
  },
  {
    what: 'no `containerRuntimeEndpoint`, or `""`',
    kubelet: "the kubelet ends if no runtime answers at its default socket",
    shim: "the shim accepts it",
    why: "a machine needs [no container runtime](#the-container-runtime)",
    configurations: ['containerRuntimeEndpoint: ""', "containerRuntimeEndpoint: null"],
  },
  {
    what: "a flag of older kubelets, or a value that only rollcall has",
    kubelet: "the kubelet refuses it",
    shim: "the shim accepts it",
    why: "these flags have the same effect as in older kubelets",
    configurations: [
      "--cloud-provider=aws",
      "--container-runtime=remote",
      "--keep-terminated-pod-volumes",
      "--register-schedulable=false",
    ],
  },
  {
    what: "a missing file that only a kubelet reads, such as `authentication.x509.clientCAFile`",
    kubelet: "the kubelet ends",
    shim: "the shim accepts it",
    why: "the shim has no server",
    configurations: ["authentication: { x509: { clientCAFile: /nowhere } }"],
  },
  {
    what: "`memoryManagerPolicy: Static` with a `reservedMemory` that does not fit the machine's NUMA nodes",
    kubelet: "the kubelet ends",
    shim: "the shim accepts it",
    why: "the shim gives no memory to pods",
    configurations: ["memoryManagerPolicy: Static"],
  },
];
