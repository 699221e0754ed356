// Makes the names of a run's machines.

export const HONEST = ["honest-0", "honest-1", "honest-2", "honest-3"] as const;
export const KUBELETS = ["kubelet-0", "kubelet-1"] as const;
const PREFIX = "hostile-";

export const isHostile = (name: string) => name.startsWith(PREFIX);
/**
 * Returns the name of a hostile machine. Its number has two digits, because its token is for all names that start
 * with this name.
 */
export const nameOfHostile = (number: number) => `${PREFIX}${String(number).padStart(2, "0")}`;
export const numberOfHostile = (name: string) => Number(name.slice(PREFIX.length, PREFIX.length + 2));
