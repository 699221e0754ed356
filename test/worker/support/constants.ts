// Defines names and paths that the Worker's tests share with the embedded apiserver.
export const ORIGIN = "https://rollcall.test";
export const ADMIN_SECRET = "an-admin-secret-that-exists-in-tests-only";
export const VIEW_SECRET = "a-view-secret-that-exists-in-tests-only";
export const METRICS_SECRET = "a-metrics-secret-that-exists-in-tests-only";
export const KUBE_URL = "https://kube.test";
export const KUBE_TOKEN = "a-token-that-exists-in-tests-only";
/** The header with the test file's name in each request to the apiserver. Each file has an apiserver of its own. */
export const FILE_HEADER = "x-test-file";
/**
 * The path that sets a fault: POST ?name=NODE with a Fault as JSON makes the apiserver fail for this Node, and null
 * ends the fault.
 */
export const FAULTS_PATH = "/faults";
/**
 * The path that lists requests: GET ?name=NODE returns the requests about a Node since the last call, as ["PUT
 * /apis/…", …].
 */
export const REQUESTS_PATH = "/requests";
/**
 * The path that counts hanging requests: GET ?name=NODE returns the number of requests about a Node that have hung
 * so far.
 */
export const HANGS_PATH = "/hangs";
/**
 * The path that lists writes: GET ?name=NODE returns the writes about a Node that took effect, oldest first. With
 * &kind=Lease, only writes of its lease.
 */
export const WRITES_PATH = "/writes";
