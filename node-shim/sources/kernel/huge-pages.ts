// Reads how many huge pages of each size the kernel has reserved. Sizes without pages are listed as well.
import { success } from "../../../shared/result.ts";
import { listKernelFolder, type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

const FOLDER = "/sys/kernel/mm/hugepages";

interface HugePages {
  pageSizeKiB: number;
  pages: number;
}

/** By size, in the order of cAdvisor's GetHugePagesInfo. A kernel without huge pages has none, which is no error. */
export function hugePages(root: string): Reading<HugePages[]> {
  const sizes = listKernelFolder(root, FOLDER);
  if (!sizes.ok) return success([]);
  const result: HugePages[] = [];
  for (const name of sizes.value) {
    const size = /^hugepages-(\d+)kB$/.exec(name);
    if (size === null) continue;
    const file = readKernelFile(root, `${FOLDER}/${name}/nr_hugepages`);
    if (!file.ok) return file;
    const pages = /^\s*(\d+)/.exec(file.value);
    if (pages === null) return unreadable(`${FOLDER}/${name}/nr_hugepages is not a number`);
    result.push({ pageSizeKiB: Number(size[1]), pages: Number(pages[1]) });
  }
  return success(result);
}
