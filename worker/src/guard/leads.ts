/**
 * Texts of which every match of an expression begins with one, or null where that can't be told. A text that holds none
 * of them needs no search, and an expression that is never run is never compiled.
 */
export function leadsOf(source: string): readonly string[] | null {
  const leads: string[] = [];
  for (const branch of branchesOf(source)) {
    const found = leadsOfBranch(branch);
    if (found === null) return null;
    leads.push(...found);
  }
  return leads;
}

/** Whether every match of an expression begins where a word does. */
export function beginsAtWord(source: string): boolean {
  return branchesOf(source).every((branch) => branch.startsWith("\\b"));
}

/** The alternatives of an expression. */
function branchesOf(source: string): string[] {
  const branches: string[] = [];
  let from = 0;
  let depth = 0;
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const sign = source[at];
    if (sign === "\\") at++;
    else if (inClass) inClass = sign !== "]";
    else if (sign === "[") inClass = true;
    else if (sign === "(") depth++;
    else if (sign === ")") depth--;
    else if (sign === "|" && depth === 0) {
      branches.push(source.slice(from, at));
      from = at + 1;
    }
  }
  branches.push(source.slice(from));
  return branches;
}

function leadsOfBranch(branch: string): readonly string[] | null {
  if (branch.startsWith("\\b")) return leadsOfBranch(branch.slice(2));
  if (!branch.startsWith("(?:")) return leadOfText(branch);
  const end = endOfGroup(branch);
  const inner = leadsOf(branch.slice(3, end));
  const next = branch[end + 1] ?? "";
  if (next !== "?") return "*{".includes(next) && next !== "" ? null : inner;
  // A group that may be left out: what follows it may begin a match too.
  const after = leadsOfBranch(branch.slice(end + 2));
  return inner === null || after === null ? null : [...inner, ...after];
}

/** Where the group ends that an expression begins with. */
function endOfGroup(source: string): number {
  let depth = 0;
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const sign = source[at];
    if (sign === "\\") at++;
    else if (inClass) inClass = sign !== "]";
    else if (sign === "[") inClass = true;
    else if (sign === "(") depth++;
    else if (sign === ")" && --depth === 0) return at;
  }
  return source.length;
}

/** The plain text that an expression begins with; alone where it is long enough to be rare. */
function leadOfText(source: string): readonly string[] | null {
  let text = "";
  for (let at = 0; at < source.length; at++) {
    let sign = source[at] as string;
    if ("([.^$".includes(sign)) break;
    if ("?*{".includes(sign)) {
      text = text.slice(0, -1);
      break;
    }
    if (sign === "+") break;
    if (sign === "\\") {
      sign = source[++at] ?? "";
      if (/\w/.test(sign)) break;
    }
    text += sign;
  }
  const rare = text.length > 1 || text > "\u2e80";
  return rare ? [text] : null;
}
