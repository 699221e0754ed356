// Who is in a run, by name.

export const HONEST = ["honest-0", "honest-1", "honest-2", "honest-3"] as const;
export const KUBELETS = ["kubelet-0", "kubelet-1"] as const;
const PREFIX = "hostile-";

export const isHostile = (name: string) => name.startsWith(PREFIX);
/** Of two digits: its token is for all names that begin so. */
export const nameOfHostile = (number: number) => `${PREFIX}${String(number).padStart(2, "0")}`;
export const numberOfHostile = (name: string) => Number(name.slice(PREFIX.length, PREFIX.length + 2));
