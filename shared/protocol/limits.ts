// Lists all limits of the protocol, as in docs/protocol.md. Imports nothing, since some programs load only this file.
// oxlint-disable max-lines -- every limit stands in this file, and docs/protocol.md has them in its order

const INT32_MAX = 2 ** 31 - 1;

/** The limits of requests and reports. */
export const LIMITS = {
  /** The most bytes of a request's body. The images alone can have 125 KiB: 50 images, 5 names each, of 500 bytes. */
  bodyBytes: 256 * 1024,
  /** The most characters of a Node's name: a DNS-1123 subdomain (apimachinery IsDNS1123Subdomain). */
  nameLength: 253,
  /** The most characters of an identifier: machine ID, system UUID, boot ID, start ID. */
  idLength: 128,
  /** The most characters of a version, an error, or another text for people. */
  textLength: 1024,
  errorsPerSource: 16,
  /** Characters of a SHA-256 in base64url, as of a digest or a thumbprint. */
  digestLength: 43,
  /** The most characters of a JWT in a body. */
  proofLength: 4096,
  /** Seconds without an answer that a report may state, [least, most]. The most is a year. */
  noAnswerSeconds: [1, 31_536_000],
} as const;

/** Kubernetes' own limits of names (apimachinery's validation). */
export const NAME_LIMITS = {
  /** The most characters of a key of a label, taint or extended resource: a DNS prefix, a slash, a name. */
  qualifiedNameLength: 253 + 1 + 63,
  labelValueLength: 63,
} as const;

/** Limits of the facts. Settings, inventory and drop-ins have their own limits. */
export const FACTS_LIMITS = {
  idLength: LIMITS.idLength,
  textLength: LIMITS.textLength,
  /** The most characters of an image's name: registry, repository, tag and digest. */
  imageNameLength: 1024,
  /** The most characters of a name in DNS. */
  hostnameLength: LIMITS.nameLength,
  images: 1000,
  namesPerImage: 20,
  cores: 65_536,
  hugePageSizes: 16,
  hugePageSizeKiB: 2 ** 30,
  hugePagesOfOneSize: 2 ** 31,
  addresses: 64,
  /** The most characters of an address. The longest is IPv6 with an IPv4 tail. */
  addressLength: 45,
  extendedResources: 128,
  volumes: 2048,
  /** The most CSI drivers whose limits of attached volumes the facts may have. */
  attachLimits: 64,
  /** The highest limit of attached volumes: the largest int32, as in CSINode's `allocatable.count`. */
  attachLimit: INT32_MAX,
  runtimeHandlers: 64,
  handlerNameLength: 253,
} as const;

/** Limits of the settings, [least, most]. Some limits are not the kubelet's, but bound the Worker's costs. */
export const SETTINGS_LIMITS = {
  nodeStatusUpdateFrequencyMs: [1000, 3_600_000],
  nodeStatusReportFrequencyMs: [1000, 86_400_000],
  nodeLeaseDurationSeconds: [1, 3600],
  evictionPressureTransitionPeriodMs: [0, 86_400_000],
  maxPods: [0, INT32_MAX],
  podsPerCore: [0, INT32_MAX],
  /** The number of images in the Node, [least, most]; -1 means all. */
  nodeStatusMaxImages: [-1, INT32_MAX],
  taints: 64,
  nodeLabels: 64,
  /** The most eviction thresholds or reservations of one kind, above the numbers of signals and of resources. */
  entries: 16,
  /** The most characters of a threshold, a reservation, or the name of a signal or resource. */
  entryLength: 64,
  reservedSystemCPUsLength: 1024,
  providerIDLength: 1024,
} as const;

/** Limits of the Worker's variables that bound machines' settings, [least, most]. */
export const DEPLOYMENT_LIMITS = {
  /** Seconds between reports, [least, most]: a lease lasts at least four intervals, and at most an hour. */
  minReportIntervalSeconds: [1, 900],
  minStatusPeriodSeconds: [1, 86_400],
  minLeaseSeconds: [1, 3600],
  /** The number of images in the Node, [least, most]. A machine cannot report more than FACTS_LIMITS.images. */
  maxImages: [0, FACTS_LIMITS.images],
  /** The factor of the limits that all machines of a join token, and of the deployment, share: [least, most]. */
  sharedLimitsFactor: [1, 1000],
} as const;

/** Limits of the inventory. */
export const INVENTORY_LIMITS = {
  /** The most characters of a name, a model, or a serial number. */
  textLength: 128,
  disks: 64,
  gpus: 64,
  networkCards: 64,
} as const;

/** Limits of features: the bytes of all, the devices of one, and the characters of a name and a value. */
export const FEATURE_LIMITS = { bytes: 24 * 1024, instances: 512, keyLength: 128, valueLength: 256 } as const;

/** Limits of the drop-ins. */
export const DROP_IN_LIMITS = {
  /** The most drop-ins on one machine. */
  dropIns: 32,
  resources: 32,
  labels: 32,
  conditions: 32,
  /** The most characters of a drop-in's name. */
  nameLength: 128,
  /** The most characters of a condition's type, and of its reason. */
  conditionLength: 128,
  messageLength: 1024,
  /** The most seconds until a condition expires: a week. */
  expiresInSeconds: 604_800,
} as const;

/** Limits of the events of problem detectors. */
export const PROBLEM_LIMITS = {
  /** The most events in the facts: a report has the newest ones. */
  events: 16,
  /** The most characters of an event's message. */
  messageLength: 512,
  /** The most characters of the name of the shim's process. */
  startLength: 32,
  /** The most characters of the mark of a problem: the name of a process, a dot and a number. */
  markLength: 64,
} as const;

/** Limits of custom facts. */
export const CUSTOM_LIMITS = {
  /** The most custom facts of all drop-ins together. */
  entries: 64,
  /** The most characters of a custom fact's name. */
  nameLength: 253,
  /** The most characters of a custom fact's text. */
  valueLength: 1024,
} as const;

/** Limits of a join token. */
export const TOKEN_LIMITS = {
  /** The most seconds until a join token expires: a year. */
  expiresInSeconds: 31_536_000,
  uses: 100_000,
  /** The most entries in each list of a join token. */
  entries: 64,
  /** The most roles, in a token and in NODE_ROLE. */
  roles: 8,
  /** The most characters of a role, which is the name part of a label. */
  roleLength: 63,
  /** The most characters of a range of addresses. The longest is IPv6 with an IPv4 tail. */
  cidrLength: 45 + 4,
} as const;

/** Limits of operators with a name. */
export const OPERATOR_LIMITS = {
  /** The most characters of an operator's name. */
  nameLength: 63,
  /** The most seconds until an operator's secret expires: a year. */
  expiresInSeconds: 31_536_000,
  operators: 1000,
  /** The most characters, requirements and values of the selector of an operator's machines. */
  selectorLength: 256,
  selectorTerms: 4,
  selectorValues: 12,
} as const;

/** Limits of operators' sessions in browsers. */
export const SESSION_LIMITS = {
  /** Seconds until a session ends, even if its credential is valid for longer. */
  lifeSeconds: 43_200,
  sessions: 1000,
  /** The most sessions with one secret. A further session ends the oldest one. */
  sessionsOfSecret: 100,
  /** The most sign-ins of one operator in a day (UTC), since each is an entry of the audit log. */
  signInsADay: 1000,
  codes: 100,
  codeSeconds: 600,
  /** The most bytes of a sign-in request. */
  bodyBytes: 1024,
  /** The most characters of a browser's User-Agent. Further characters are cut off. */
  browserLength: 160,
} as const;

/** Limits of an action on many machines. */
export const BULK_LIMITS = {
  machines: 10_000,
  /** The most characters of all names together in an action, which stores them in one row. */
  namesLength: 1_500_000,
  /** Seconds for which the confirmation of a dry run is valid. */
  confirmationSeconds: 600,
  /** The most actions that are unfinished at the same time. */
  underWay: 10,
  /** The most days of silence that a query can ask for. */
  silentDays: 3650,
} as const;

/** The most entries on a page, and the number of entries by default. */
export const PAGE_LIMITS = { entries: 1000, entriesByDefault: 100 } as const;

/** The most events in an answer about a machine, which has the latest ones. */
export const SHOWN_LIMITS = { events: 50 } as const;

/** Limits of a filter of machines. A statement of SQL has at most 100 bindings. */
export const FILTER_LIMITS = {
  /** The most requirements of a selector, terms for conditions or versions, and words. */
  terms: 12,
  /** The most characters of a word with a `*`: the platform's SQLite refuses longer patterns. */
  patternLength: 50,
  /** The most values in all requirements of a selector together. */
  labelValues: 32,
  /** The most characters of a label selector. */
  selectorLength: 4096,
  textLength: 256,
} as const;

/** Limits of the feed. */
export const FEED_LIMITS = {
  feeds: 100,
  feedsOfOperator: 20,
  /** The most bytes of a message in UTF-8. */
  messageBytes: 1024 * 1024,
  machines: 10_000,
  /** The least milliseconds between two messages about changes. */
  intervalMs: 1000,
  /** The number of unacknowledged messages at which a snapshot pauses, and a further change closes the feed. */
  unacknowledged: 2,
  /** Milliseconds without an acknowledgement after which the Worker closes the feed. */
  acknowledgedMs: 10_000,
  /** The most pending machines in a message, which has the oldest ones. */
  pending: 200,
  /** The most characters of a frame that a client sends. */
  frameLength: 512,
  /** The most changes that a resumed feed may have missed. After more changes, a snapshot is sent. */
  resumedChanges: 5000,
  /** Seconds until the feed is closed, even if its credential is valid for longer. */
  lifeSeconds: 43_200,
  /** Seconds until a ticket expires. */
  ticketSeconds: 30,
  /** The most unused tickets of all operators together. */
  tickets: 1000,
  /** The most unused tickets of one operator. */
  ticketsOfOperator: 100,
} as const;

/** Limits of a machine's maintenance. */
export const MAINTENANCE_LIMITS = {
  /** The most days from now until the end of a plan or a maintenance. */
  days: 30,
  commentLength: 256,
} as const;

/** Limits of receivers, mutes and deliveries, [least, most]. */
export const NOTIFICATION_LIMITS = {
  receivers: 20,
  mutes: 100,
  /** The most characters of a mute's names and commas. */
  muteNamesLength: 8192,
  /** The most days from now until the end of a mute. */
  muteDays: 30,
  delaySeconds: [0, 86_400],
  repeatMinutes: [5, 10_080],
  /** The most deliveries that wait for one receiver. At the limit a new alert waits until there are fewer. */
  lettersWaiting: 1000,
  bytesWaiting: 4 * 1024 * 1024,
  /** The most failed deliveries that are kept for one receiver. The oldest are deleted. */
  deadLetters: 200,
  alertsInLetter: 40,
  /** The most names in an alert about several machines. */
  namesInAlert: 20,
  /** The most bytes that the Worker reads of a receiver's answer. */
  answerBytes: 1024,
  /** The most findings of a machine's diagnosis in an alert, and their most bytes. */
  findings: 5,
  diagnosisBytes: 1024,
  /** The most machines of the deployment that receivers ask for a diagnosis, at once and in a minute. */
  diagnosesAtOnce: 3,
  diagnosesAMinute: 3,
} as const;

/** Limits of a rollout, [least, most]. */
export const ROLLOUT_LIMITS = {
  /** The most characters of a version. */
  versionLength: 64,
  percent: [1, 100],
  mostSilentPercent: [0, 100],
  atOnce: [1, 1000],
  /** Seconds for which a machine that got the version counts as `underway`. */
  underwaySeconds: 1800,
  /** The most names of silent machines in an answer. */
  namesShown: 10,
  /** The most questions about an upgrade that one machine may ask at once. One more question is allowed each minute. */
  questionsAtOnce: 5,
} as const;

/** Limits of a machine's timeline. */
export const TIMELINE_LIMITS = {
  /** The most days that one request for a timeline may cover. */
  days: 90,
  /** The most lines of history that the Worker reads for the range of a timeline. */
  lines: 2000,
  bands: 5000,
} as const;

/** Limits of backups. */
export const BACKUP_LIMITS = {
  /** The most bytes of a page, approximately. A longer row has a page of its own. */
  pageBytes: 128 * 1024,
  rowsOfPage: 500,
  /** The most entries of the machines' log that a backup contains, which are the newest. */
  machineEntries: 100_000,
  /** The most names in an answer about machines that have not reported since an import. */
  namesShown: 100,
  cursorLength: 2048,
  /** Seconds after an export's first page for which its cursors are valid. */
  exportSeconds: 3600,
} as const;

/** Limits of sockets and gateways. */
export const GATEWAY_LIMITS = {
  /** The default number of machines of one gateway. */
  machines: 500,
  /** The bounds of GATEWAY_SIZE, [least, most]. With 0, no machine has a socket. */
  size: [0, 1000],
  /** Seconds until a connect ticket expires. */
  ticketSeconds: 120,
  /** Seconds until the gateway closes a socket without an accepted report. */
  unacceptedSeconds: 10,
  /** The most sockets without an accepted report that one name may have. */
  unacceptedOfName: 2,
  /** The most sockets of one name, with closed ones until their machine has closed them too. */
  socketsOfName: 4,
  /** The most sockets of one network without an accepted report, or closed only by the gateway. */
  pendingOfNetwork: 64,
  /** Seconds for which a machine must wait if its name has reached its limit of sockets. */
  crowdedSeconds: 60,
  /** The most sockets that a name may open at once, and in a minute. */
  upgradesAMinute: 20,
  /** Seconds of the longest lease loan. */
  quietSeconds: 300,
  /** The number of missing heartbeats after which the gateway closes the socket. */
  missedBeats: 3,
  /** The number of heartbeats less than half an interval apart, since the last report, that closes the socket. */
  earlyBeats: 3,
  /** The number of refused frames at which the gateway closes the socket. A report resets the number to 0. */
  refusedFrames: 3,
  /** The most reports that one socket may send at once. */
  reportsAtOnce: 20,
  /** The most reports that one socket may send in a minute. */
  reportsAMinute: 60,
  /** Seconds for which a machine uses HTTP after its gateway closed the socket, or after `failures` sockets failed. */
  awaySeconds: 600,
  failures: 3,
  /** Milliseconds within which a machine with a lost socket connects again, at a random time. */
  comeBackMs: 5000,
  /** Milliseconds for each machine of the gateway, which replace comeBackMs if their sum is longer. */
  comeBackMsOfMachine: 60,
  /** Seconds for which a gateway remembers a replaced session. */
  replacedSeconds: 600,
} as const;

/** Limits of questions to a machine, [least, most]. QUESTIONS has the seconds of each question. */
export const QUESTION_LIMITS = {
  /** The most characters of a parameter. */
  parameterLength: 1024,
  /** The most characters of a unit's name: systemd's UNIT_NAME_MAX. */
  unitLength: 255,
  grepLength: 256,
  /** The most characters of a container's ID. */
  containerLength: 128,
  /** The number of processes or folders in an answer. */
  top: [1, 200],
  lines: [1, 5000],
  /** The most characters of a line of an answer. Further characters are left out. */
  lineLength: 4096,
  /** Seconds back from now from which the journal is read. The most is 31 days. */
  sinceSeconds: [1, 2_678_400],
  /** The most bytes of an answer. */
  answerBytes: 1024 * 1024,
  /** The most bytes of the answer to `bundle`, a .tar.gz. */
  bundleBytes: 8 * 1024 * 1024,
  /** The most bytes that are read of a log, from its end, in search of lines. */
  scannedBytes: 256 * 1024 * 1024,
  /** The most bytes that a source of an answer yields at once. */
  chunkBytes: 64 * 1024,
  /** The most bytes of a question, as a process of the shim's asks another one. */
  askedBytes: 64 * 1024,
  /** The seconds that a question of the machine's owner may take. */
  ownSeconds: [1, 60],
  /** The most questions of its owner that a machine answers. */
  ownQuestions: 32,
  /** The most questions of all askers that a machine answers at the same time. One that hangs counts until it ends. */
  atOnce: 2,
  /** The most questions of all askers that a machine answers in a minute. */
  aMinute: 30,
} as const;

/** Limits of the way of a question to a machine, and of the way of its answer. */
export const ASKING_LIMITS = {
  /** The most characters of a question's name, and of a parameter's. */
  nameLength: 64,
  parameters: 16,
  /** The most questions that a machine may name. */
  questions: 64,
  proofLength: 2048,
  challengeLength: 1024,
  faultLength: 4096,
  /** The most characters of a question in the machine's log and in the audit log. */
  loggedLength: 512,
  /** The most answers that pass through one gateway at once. */
  atOnceOfGateway: 32,
  /** The bytes of frames that a machine may send before the reader of the answer has read the first of them. */
  creditBytes: 128 * 1024,
  /** The most bytes of a frame. */
  frameBytes: 64 * 1024,
  /** The least bytes that count for a frame. */
  leastCostBytes: 1024,
  /** The most bytes of all frames of an answer. */
  streamBytes: 16 * 1024 * 1024,
  /** The seconds after the time of a question in which its answer must have arrived. */
  graceSeconds: 10,
  /** The seconds in which a machine must report over HTTP, with graceSeconds more, so that it can be asked. */
  reportWithinSeconds: 60,
  /** The seconds after which an empty line shows that the answer goes on. */
  aliveSeconds: 3,
  /** The seconds after which the Worker checks again that the operator may ask. */
  recheckSeconds: 5,
  /** The frames `questions` that one socket may send at once, and in a minute. */
  namingsAtOnce: 6,
  namingsAMinute: 6,
  /** The questions to one machine that operators may ask at once, and in a minute. */
  ofMachineAtOnce: 10,
  ofMachineAMinute: 10,
  /** The questions that one operator may ask at once, and in a minute: each is a row of the audit log for a year. */
  ofOperatorAtOnce: 300,
  ofOperatorAMinute: 5,
} as const;

/** Limits of the proofs by operators' keys. */
export const PROOF_LIMITS = {
  /** Seconds for which a machine's challenge is valid, once. */
  challengeSeconds: 60,
  /** The most unused challenges of a machine. A further one ends the oldest. */
  challenges: 32,
  /** The most keys in a file of --questions-from, and its most bytes. */
  keys: 64,
  fileBytes: 64 * 1024,
} as const;

export const USAGE_LIMITS = {
  /** The most bytes of a usage frame, with its MAC. */
  frameBytes: 300,
  /** Seconds after which the next heartbeat is followed by a usage frame. Heartbeats are usually 9.6 s apart. */
  everySeconds: 55,
  /** The most usage frames that one socket may send at once. */
  atOnce: 3,
  /** The most usage frames that one socket may send in a minute. */
  aMinute: 2,
  /** The number of missing usage frames after which the gateway no longer shows the last one. */
  missed: 5,
  /** The most samples that a machine keeps while it has no socket: those of an hour. */
  kept: 60,
  /** The most seconds between a kept sample and the later usage frame that came before it. */
  keptSeconds: 4000,
  /** The most bytes of the frame with kept samples. */
  keptBytes: 32 * 1024,
  /** The most lost samples that a machine reports at once. */
  lost: 10_000,
  /** The machines that the gateways of a deployment ask in a second for kept samples. */
  askedASecond: 50,
} as const;
