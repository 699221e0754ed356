// Makes the names of a run's machines.

/** Enough for more than 100 reports in a minute: of fewer reports, the 99th percentile is the longest time. */
export const HONEST = Array.from({ length: 10 }, (_, at) => `honest-${at}`);
/** The second kubelet has a name of several labels, as a hostile machine may report. */
export const KUBELETS = ["kubelet-0", "kubelet-1.shop.example.com"] as const;
/** A healthy machine whose Node stops being Ready now and then, so that its operators are notified. */
export const PATIENT = "honest-patient";
const PREFIX = "hostile-";

export const isHostile = (name: string) => name.startsWith(PREFIX);
/**
 * Returns the name of a hostile machine. Its number has two digits, because its token is for all names that start
 * with this name.
 */
export const nameOfHostile = (number: number) => `${PREFIX}${String(number).padStart(2, "0")}`;
export const numberOfHostile = (name: string) => Number(name.slice(PREFIX.length, PREFIX.length + 2));
