// Every limit of the protocol, as in docs/protocol.md. A value beyond its limit is refused. Imports nothing, since some
// programs load only this file.

const INT32_MAX = 2 ** 31 - 1;

/** Of requests and reports. */
export const LIMITS = {
  /** Bytes of a request's body. 50 images with 5 names of 500 bytes each are 125 KiB. */
  bodyBytes: 256 * 1024,
  /** Characters of a Node's name: a DNS-1123 subdomain (apimachinery IsDNS1123Subdomain). */
  nameLength: 253,
  /** Characters of an identifier: machine ID, system UUID, boot ID, start ID. */
  idLength: 128,
  /** Characters of a version, a text for people, an error. */
  textLength: 1024,
  errorsPerSource: 16,
  /** Characters of a SHA-256 in base64url: a digest, a thumbprint. */
  digestLength: 43,
  /** Characters of a JWT in a body. */
  proofLength: 4096,
  /** [least, most] seconds without an answer: a year. */
  noAnswerSeconds: [1, 31_536_000],
} as const;

/** Kubernetes' limits of names (apimachinery's validation). */
export const NAME_LIMITS = {
  /** Characters of a label's, taint's or extended resource's name. */
  qualifiedNameLength: 253 + 1 + 63,
  labelValueLength: 63,
} as const;

/** Limits of the facts. Settings, inventory and drop-ins have their own limits. */
export const FACTS_LIMITS = {
  idLength: LIMITS.idLength,
  textLength: LIMITS.textLength,
  /** Characters of an image's name: registry, repository, tag and digest. */
  imageNameLength: 1024,
  /** Characters of a name in DNS. */
  hostnameLength: LIMITS.nameLength,
  images: 1000,
  namesPerImage: 20,
  cores: 65_536,
  hugePageSizes: 16,
  hugePageSizeKiB: 2 ** 30,
  hugePagesOfOneSize: 2 ** 31,
  addresses: 64,
  /** Characters of an address, of IPv6 with an IPv4 tail. */
  addressLength: 45,
  extendedResources: 128,
  volumes: 2048,
  /** CSI drivers that limit how many volumes they attach. */
  attachLimits: 64,
  /** The largest int32, as in CSINode's `allocatable.count`. */
  attachLimit: INT32_MAX,
  runtimeHandlers: 64,
  handlerNameLength: 253,
} as const;

/** Limits of the settings; [least, most]. The kubelet lacks some of these limits, which bound the Worker's costs. */
export const SETTINGS_LIMITS = {
  nodeStatusUpdateFrequencyMs: [1000, 3_600_000],
  nodeStatusReportFrequencyMs: [1000, 86_400_000],
  nodeLeaseDurationSeconds: [1, 3600],
  evictionPressureTransitionPeriodMs: [0, 86_400_000],
  maxPods: [0, INT32_MAX],
  podsPerCore: [0, INT32_MAX],
  /** -1: all. */
  nodeStatusMaxImages: [-1, INT32_MAX],
  taints: 64,
  nodeLabels: 64,
  /** Of eviction thresholds or reservations: more than there are signals and resources. */
  entries: 16,
  /** Characters of a threshold, a reservation, or the name of either. */
  entryLength: 64,
  reservedSystemCPUsLength: 1024,
  providerIDLength: 1024,
} as const;

/** Limits of the Worker's variables that bound machines' settings; [least, most]. */
export const DEPLOYMENT_LIMITS = {
  /** A lease is four report intervals or longer, and at most an hour. */
  minReportIntervalSeconds: [1, 900],
  minStatusPeriodSeconds: [1, 86_400],
  minLeaseSeconds: [1, 3600],
  /** A machine cannot report more images. */
  maxImages: [0, FACTS_LIMITS.images],
} as const;

/** Limits of the inventory. */
export const INVENTORY_LIMITS = {
  /** Characters of a name, a model, a serial number. */
  textLength: 128,
  disks: 64,
  gpus: 64,
  networkCards: 64,
} as const;

/** Limits of the drop-ins. */
export const DROP_IN_LIMITS = {
  /** Of all drop-ins together. */
  dropIns: 32,
  resources: 32,
  labels: 32,
  conditions: 32,
  /** Characters of a drop-in's name. */
  nameLength: 128,
  /** Characters of a condition's type, and of its reason. */
  conditionLength: 128,
  messageLength: 1024,
  /** A week. */
  expiresInSeconds: 604_800,
} as const;

/** Limits of custom facts. */
export const CUSTOM_LIMITS = {
  /** Of all drop-ins together. */
  entries: 64,
  /** Characters of a name. */
  nameLength: 253,
  /** Characters of a text. */
  valueLength: 1024,
} as const;

/** Limits of a join token. */
export const TOKEN_LIMITS = {
  /** A year. */
  expiresInSeconds: 31_536_000,
  uses: 100_000,
  /** Of each list. */
  entries: 64,
  /** The limit of NODE_ROLE as well. */
  roles: 8,
  /** Characters of a role: the name of a label. */
  roleLength: 63,
  /** Characters of a range of addresses, of IPv6 with an IPv4 tail. */
  cidrLength: 45 + 4,
} as const;

/** Limits of operators with a name. */
export const OPERATOR_LIMITS = {
  /** Characters of a name. */
  nameLength: 63,
  /** A year. */
  expiresInSeconds: 31_536_000,
  operators: 1000,
} as const;

/** Limits of operators' sessions in browsers. */
export const SESSION_LIMITS = {
  /** Even if its credential is valid for longer. */
  lifeSeconds: 43_200,
  sessions: 1000,
  /** Of one secret. A new session ends the oldest. */
  sessionsOfSecret: 100,
  /** Of one operator in a day (UTC), since each is an entry of the audit log. */
  signInsADay: 1000,
  codes: 100,
  codeSeconds: 600,
  /** The size of a sign-in request. */
  bodyBytes: 1024,
  /** Characters of a browser's User-Agent. The rest is dropped. */
  browserLength: 160,
} as const;

/** Limits of an action on many machines. */
export const BULK_LIMITS = {
  machines: 10_000,
  /** Characters of all names, which are stored in one row. */
  namesLength: 1_500_000,
  /** Validity of a dry run's confirmation. */
  confirmationSeconds: 600,
  /** Unfinished actions. */
  underWay: 10,
  /** The longest silence in a query. */
  silentDays: 3650,
} as const;

/** The most entries of a page, and the default. */
export const PAGE_LIMITS = { entries: 1000, entriesByDefault: 100 } as const;

/** The latest events of a machine in an answer. */
export const SHOWN_LIMITS = { events: 50 } as const;

/** Limits of a filter of machines. A statement of SQL has at most 100 bindings. */
export const FILTER_LIMITS = {
  /** Requirements of a selector; conditions; versions. */
  terms: 12,
  /** The values of all requirements of a selector together. */
  labelValues: 32,
  /** Characters. */
  selectorLength: 4096,
  textLength: 256,
} as const;

/** Limits of the feed. */
export const FEED_LIMITS = {
  feeds: 100,
  feedsOfOperator: 20,
  /** The size of a message in UTF-8. */
  messageBytes: 1024 * 1024,
  machines: 10_000,
  /** Time between two messages about changes. */
  intervalMs: 1000,
  /** The most unacknowledged messages, and the longest time without an acknowledgement. */
  unacknowledged: 2,
  acknowledgedMs: 10_000,
  /** The oldest machines that wait for an approval, in a message. */
  pending: 200,
  /** Characters of a frame that a client sends. */
  frameLength: 512,
  /** The most changes that a resumed feed may have missed. */
  resumedChanges: 5000,
  /** Even if its credential is valid for longer. */
  lifeSeconds: 43_200,
  /** A ticket's life, and the most unused tickets of all operators, and of one. */
  ticketSeconds: 30,
  tickets: 1000,
  ticketsOfOperator: 100,
} as const;

/** Limits of receivers, mutes and letters; [least, most]. */
export const NOTIFICATION_LIMITS = {
  receivers: 20,
  mutes: 100,
  /** The latest end of a mute, from now. */
  muteDays: 30,
  delaySeconds: [0, 86_400],
  repeatMinutes: [5, 10_080],
  /** Deliveries that wait for one receiver. At the limit a new alert waits until there are fewer. */
  lettersWaiting: 1000,
  bytesWaiting: 4 * 1024 * 1024,
  /** Of one receiver. The oldest are dropped. */
  deadLetters: 200,
  alertsInLetter: 40,
  /** Names in an alert about several machines. */
  namesInAlert: 20,
  /** Bytes of a receiver's answer that are read. */
  answerBytes: 1024,
} as const;

/** Limits of a rollout; [least, most]. */
export const ROLLOUT_LIMITS = {
  /** Characters. */
  versionLength: 64,
  percent: [1, 100],
  mostSilentPercent: [0, 100],
  atOnce: [1, 1000],
  /** How long a machine that got the version counts as under way. */
  underwaySeconds: 1800,
  /** Names of silent machines in an answer. */
  namesShown: 10,
  /** Questions of one machine at once. One more is allowed each minute. */
  questionsAtOnce: 5,
} as const;

/** Limits of a machine's timeline. */
export const TIMELINE_LIMITS = {
  /** The longest range. */
  days: 90,
  /** Lines of history that are read for a range. */
  lines: 2000,
  bands: 5000,
} as const;

/** Limits of backups. */
export const BACKUP_LIMITS = {
  /** Approximate size of a page. A longer row has a page of its own. */
  pageBytes: 128 * 1024,
  rowsOfPage: 500,
  /** The newest entries of the machines' log. */
  machineEntries: 100_000,
  /** Names of machines that have not reported since an import, in an answer. */
  namesShown: 100,
  cursorLength: 2048,
} as const;

/** Limits of sockets and gateways. */
export const GATEWAY_LIMITS = {
  /** Machines of one gateway by default, and [least, most] of GATEWAY_SIZE. 0: no machine has a socket. */
  machines: 500,
  size: [0, 1000],
  /** A connect ticket's life. */
  ticketSeconds: 120,
  /** The life of a socket without an accepted report, and the most such sockets of a name. */
  unacceptedSeconds: 10,
  unacceptedOfName: 4,
  /** Sockets that a name may open at once, and in a minute. */
  upgradesAMinute: 20,
  /** The longest loan of a lease. */
  quietSeconds: 300,
  /** Missing heartbeats until the gateway closes the socket. */
  missedBeats: 3,
  /** Heartbeats in less than half their interval, and refused frames, until the gateway closes the socket. A report resets both. */
  earlyBeats: 3,
  refusedFrames: 3,
  /** Reports over one socket at once, and in a minute. */
  reportsAtOnce: 20,
  reportsAMinute: 60,
  /** How long a machine uses HTTP after its gateway sent it away, or after `failures` failed sockets. */
  awaySeconds: 600,
  failures: 3,
  /** A machine connects again within a random part of the longer of these: this time, or a time for each machine of the gateway. */
  comeBackMs: 5000,
  comeBackMsOfMachine: 60,
  /** How long a gateway remembers a replaced session. */
  replacedSeconds: 600,
} as const;
