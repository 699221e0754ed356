// Names and paths that the Worker's tests share with their surroundings.
export const ORIGIN = "https://rollcall.test";
export const ADMIN_SECRET = "an-admin-secret-that-exists-in-tests-only";
export const VIEW_SECRET = "a-view-secret-that-exists-in-tests-only";
export const METRICS_SECRET = "a-metrics-secret-that-exists-in-tests-only";
export const KUBE_URL = "https://kube.test";
export const KUBE_TOKEN = "a-token-that-exists-in-tests-only";
/** The test file, in each request to the apiserver. Each file has an apiserver of its own. */
export const FILE_HEADER = "x-test-file";
/** POST ?name=NODE: a Fault as JSON makes the apiserver fail for a Node; with null it is well again. */
export const FAULTS_PATH = "/faults";
/** GET ?name=NODE answers the requests about a Node since the last time, as ["PUT /apis/…", …]. */
export const REQUESTS_PATH = "/requests";
/** GET ?name=NODE answers how many requests about a Node have hung so far. */
export const HANGS_PATH = "/hangs";
/** GET ?name=NODE answers all writes about a Node that took effect, oldest first; with &kind=Lease those of its lease. */
export const WRITES_PATH = "/writes";
