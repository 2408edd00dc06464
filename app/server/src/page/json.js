// JSON as text: laid out anew without changing a token, and checked before it is sent.

/** The text with line breaks and indents between its tokens, and no token changed: numbers keep all
 * their digits, keys that come twice stay. Text that is not JSON is answered as it is. */
export function laid_out(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const out = [];
  let depth = 0;
  const line = () => out.push("\n", "  ".repeat(Math.min(depth, 40)));
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token === "{" || token === "[") {
      out.push(token);
      if (next === "}" || next === "]") return;
      depth += 1;
      line();
    } else if (token === "}" || token === "]") {
      const before = tokens[index - 1];
      if (before !== "{" && before !== "[") {
        depth -= 1;
        line();
      }
      out.push(token);
    } else if (token === ",") {
      out.push(token);
      line();
    } else if (token === ":") {
      out.push(": ");
    } else {
      out.push(token);
    }
  });
  return out.join("");
}

/** What is wrong with arguments that a person wrote, or null: they must be one JSON object. */
export function fault(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return "Arguments are a JSON object: { ... }";
  }
  const twice = repeated(text);
  return twice === null ? null : `The key ${twice} is there twice in one object`;
}

/** A key that is twice in one object, or null. */
function repeated(text) {
  const open = [];
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token[0] === '"' && tokens[index + 1] === ":") {
      const keys = open.at(-1);
      const key = JSON.parse(token);
      if (keys?.has(key)) return token;
      keys?.add(key);
    }
  }
  return null;
}
