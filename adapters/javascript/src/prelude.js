// What stands around a program: it is called once, before the program, with the functions of the host.
(function (host, names, library, dataText, memoryText) {
  "use strict";
  const [call, print, fail, pay, count, over, full, deep, weigh] = host;
  const top = globalThis;

  // What ends a program. The engine asks the host now and then whether it may go on; where it may not, it
  // throws what nothing catches, and no `finally` runs.
  const end = () => {
    for (;;) {}
  };
  let owed = 0;
  const charge = (steps) => {
    owed += steps > 0 ? steps : 0;
    if (owed <= 400) return;
    const due = owed;
    owed = 0;
    if (pay(due)) end();
  };
  const tick = (rounds) => {
    if (count(rounds)) end();
    return 0;
  };
  // Keys are paid for by how many of them have one hash, once there may be many. Of a property the price is that
  // of its text, of a map's key that of the text or number.
  let uses = 0;
  const few = 500;
  const property = (name) => {
    uses += 1;
    if (uses > few && weigh(0, name)) end();
  };
  const entry = (value) => {
    if (typeof value !== "string" && typeof value !== "number") return;
    uses += 1;
    if (uses > few && weigh(1, value)) end();
  };
  const properties = (object) => {
    const names = keys(object);
    if (uses + names.length > few) for (let at = 0; at < names.length; at += 1) property(names[at]);
    else uses += names.length;
    return names;
  };
  let units = 0;
  const json = (text) => {
    if (typeof text !== "string") return text;
    units += text.length;
    // A text with half of a surrogate pair could not be read.
    if (units > 8000 && weigh(2, apply(toWellFormed, text, []))) end();
    return text;
  };
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys, getPrototypeOf, defineProperty } = Reflect;
  const { getOwnPropertyDescriptor } = Reflect;
  const { freeze, keys, setPrototypeOf, hasOwn, create } = Object;
  const { isArray } = Array;
  const BaseError = Error, Later = Promise, Text = String, Guard = Proxy;
  const { then } = Promise.prototype;
  const { isError } = Error;
  const shortage = InternalError.prototype, range = RangeError.prototype;
  const { get: stackOf } = getOwnPropertyDescriptor(Error.prototype, "stack");
  const { toWellFormed, startsWith } = String.prototype;

  // What a program does not find.
  const known = { __proto__: null };
  for (const name of library) known[name] = true;
  for (const key of ownKeys(top)) if (!known[key]) delete top[key];
  // A stack is built for each error, and what it shows is not the program's to choose.
  Error.stackTraceLimit = 8;
  for (const key of ["stackTraceLimit", "prepareStackTrace", "captureStackTrace"]) delete Error[key];
  for (const key of ["__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__",
    "__lookupSetter__"]) delete Object.prototype[key];
  delete RegExp.prototype.compile;
  for (const f of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    delete getPrototypeOf(f).constructor;
  }

  const named = (name, message) => {
    const error = new BaseError(message);
    defineProperty(error, "name", { value: name, writable: true, configurable: true });
    return error;
  };
  // What is caught is looked at first: a program does not go on where memory or stack has run out.
  const caught = (thrown) => {
    charge(10);
    if (typeof thrown !== "object") return;
    if (thrown === null) {
      // It may be thrown where there is no room for an error.
      charge(1000);
      return;
    }
    if (!isError(thrown)) return;
    const stack = apply(stackOf, thrown, []);
    if (typeof stack === "string") charge(stack.length / 16);
    const kind = getPrototypeOf(thrown);
    if (kind !== shortage && kind !== range) return;
    const words = getOwnPropertyDescriptor(thrown, "message");
    if (words === undefined || typeof words.value !== "string") return;
    if (kind === range && words.value === "Maximum call stack size exceeded") {
      deep(Text(stack));
      end();
    }
    if (kind === shortage && apply(startsWith, words.value, ["out of memory"])) {
      full(Text(stack));
      end();
    }
  };
  // The promise of a tool's answer has only what a promise is awaited by: a program that reads anything else of
  // it, or shows a promise, has forgotten to await it. The error names the place of the call.
  const unawaited = new WeakMap();
  const { get: callOf, set: keepCall } = WeakMap.prototype;
  const awaits = { __proto__: null, then: true, catch: true, finally: true, constructor: true };
  const onlyAwaited = new Guard(create(Later.prototype), {
    __proto__: null,
    get(target, key, promise) {
      if (key === Symbol.toStringTag || typeof key === "string" && awaits[key]) return target[key];
      throw apply(callOf, unawaited, [promise]);
    },
  });
  const promised = (missing, start) => {
    const promise = new Later(start);
    apply(keepCall, unawaited, [promise, named("AwaitMissing", missing)]);
    return setPrototypeOf(promise, onlyAwaited);
  };
  const awaited = (value) => {
    if (!(value instanceof Later)) return;
    const call = apply(callOf, unawaited, [value]);
    if (call !== undefined) throw call;
    throw named("AwaitMissing", "await is missing before a promise that is shown or passed on");
  };
  // Promises that were rejected and that nobody has looked at.
  const unheeded = new Map();
  const { set: put, delete: drop } = Map.prototype;
  const { get: sizeOf } = getOwnPropertyDescriptor(Map.prototype, "size");
  const { get: sizeOfSet } = getOwnPropertyDescriptor(Set.prototype, "size");
  const { values } = Map.prototype;
  const { next } = getPrototypeOf(new Map().values());
  const rejected = (promise, reason, heeded) => {
    charge(5);
    if (heeded) {
      apply(drop, unheeded, [promise]);
      return;
    }
    caught(reason);
    apply(put, unheeded, [promise, reason]);
  };
  // JSON, written value by value: the library's own writer goes on where memory has run out, and through
  // what stands in many places once for each of them.
  const { join, includes } = Array.prototype;
  const { log2: Math_log2 } = Math;
  const { toJSON: none } = Object.prototype;
  const { forEach: eachEntry } = Map.prototype;
  const { forEach: eachValue } = Set.prototype;
  const [mapProto, setProto] = [Map.prototype, Set.prototype];
  // What is said of a map, a set or an error, of which JSON has nothing: a map is an object where its keys
  // are texts, and else a list of pairs; a set is a list; an error is its words.
  const told = (value) => {
    if (isError(value)) return sized(value.name + ": " + value.message);
    const inSet = within(setProto, sizeOfSet, value);
    const inMap = inSet === undefined ? within(mapProto, sizeOf, value) : undefined;
    if (inSet === undefined && inMap === undefined) return value;
    charge(2 + 2 * (inSet ?? inMap));
    const list = [];
    if (inSet !== undefined) {
      apply(eachValue, value, [(one) => { list[list.length] = one; }]);
      return list;
    }
    const object = { __proto__: null };
    let texts = true;
    apply(eachEntry, value, [(one, key) => {
      list[list.length] = [key, one];
      if (typeof key === "string") object[key] = one;
      else texts = false;
    }]);
    return texts ? object : list;
  };
  const write = (whole, plain) => {
    const parts = [];
    let count = 0;
    const say = (text) => {
      parts[parts.length] = text;
    };
    const go = (given, key, depth) => {
      let value = given;
      count += 1;
      if (count % 500 === 0) charge(500);
      awaited(value);
      if (typeof value === "object" && value !== null && value.toJSON !== none) {
        if (typeof value.toJSON === "function") value = value.toJSON(key);
      }
      if (typeof value === "string") {
        if (value.length > 400) charge(value.length / 16);
        say(stringify(value));
        return true;
      }
      if (value === undefined || typeof value === "function" || typeof value === "symbol") return false;
      if (typeof value !== "object" || value === null || value instanceof Number
        || value instanceof Boolean || value instanceof Text) {
        say(stringify(value));
        return true;
      }
      if (depth >= 120) {
        throw named("TooDeep", "a value is nested deeper than 120, or within itself");
      }
      if (!plain) {
        const said = told(value);
        if (said !== value) return go(said, key, depth + 1);
      }
      if (isArray(value)) {
        say("[");
        for (let at = 0; at < value.length; at += 1) {
          if (at > 0) say(",");
          if (!go(value[at], Text(at), depth + 1)) say("null");
        }
        say("]");
        return true;
      }
      say("{");
      const names = properties(value);
      let any = false;
      for (let at = 0; at < names.length; at += 1) {
        const before = parts.length;
        say((any ? "," : "") + stringify(names[at]) + ":");
        if (go(value[names[at]], names[at], depth + 1)) any = true;
        else parts.length = before;
      }
      say("}");
      return true;
    };
    return go(whole, "", 0) ? apply(join, parts, [""]) : undefined;
  };
  const written = (value) => {
    const text = write(value);
    return text === undefined ? "null" : text;
  };
  // The name of a function, behind a space. Its text is not shown: it is run with counters in it.
  const called = (value) => {
    const name = getOwnPropertyDescriptor(value, "name");
    return name !== undefined && typeof name.value === "string" && name.value !== "" ? " " + name.value : "";
  };
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof BaseError) return value.name + ": " + value.message;
    if (typeof value === "symbol") return "a symbol";
    if (typeof value === "function") return "[function" + called(value) + "]";
    const text = write(value);
    return text === undefined ? Text(value) : text;
  };

  // What the program is run with, where it stands in it.
  const sized = (value) => {
    if (typeof value === "string" && value.length > 256) charge(value.length / 16);
    return value;
  };
  const spread = (value) => {
    if (typeof value === "string" || isArray(value)) charge(2 + value.length / 4);
    else if (typeof value === "object" && value !== null) {
      awaited(value);
      charge(5 + properties(value).length * 2 + many(value) / 2);
    }
    return value;
  };
  const primitive = (value) => {
    const turn = value[Symbol.toPrimitive];
    if (turn !== undefined && turn !== null) return apply(turn, value, ["number"]);
    for (const name of ["valueOf", "toString"]) {
      const turn = value[name];
      if (typeof turn !== "function") continue;
      const turned = apply(turn, value, []);
      if (typeof turned !== "object" && typeof turned !== "function" || turned === null) return turned;
    }
    throw new TypeError("an object has no primitive value");
  };
  const number = (value) => {
    const plain = typeof value === "object" && value !== null || typeof value === "function"
      ? primitive(value) : value;
    return sized(plain);
  };
  const strictKey = (value) => {
    const name = key(value);
    if (name === "prototype") {
      throw new TypeError("where there are generators, no key prototype is had by a computed name");
    }
    return name;
  };
  const key = (value) => {
    const name = typeof value === "object" && value !== null || typeof value === "function"
      ? ownKeys({ __proto__: null, [value]: 0 })[0] : value;
    if (typeof name === "string") property(sized(name));
    else if (typeof name === "number" && (name >>> 0 !== name || name > 1048575)) property(Text(name));
    return name;
  };
  const rounds = () => {
    over();
    end();
  };

  // Chains of prototypes are short, so that no lookup is long. None grows from behind: what an object
  // inherits from is not changed later.
  const proto = (value) => {
    let at = value, length = 0;
    while (typeof at === "object" && at !== null || typeof at === "function") {
      length += 1;
      if (length > 60) throw new RangeError("the chain of prototypes is too long");
      at = getPrototypeOf(at);
    }
    return value;
  };
  const base = (value) => {
    if (typeof value !== "function") return value;
    const own = getOwnPropertyDescriptor(value, "prototype");
    if (own === undefined || own.get !== undefined) throw new TypeError("this cannot be extended");
    proto(own.value);
    return proto(value);
  };
  const made = (value) => {
    charge(1);
    proto(value);
  };
  // The library is paid for by the size of what it works on, before it works where that is known: the engine
  // counts calls and rounds of the program's own code, and little of what goes on within the library. One
  // that is given something else than a text or a list is given a text, or refuses it, as what an object
  // tells of itself may change from one look to the next.
  const size = (value) => (typeof value === "string" || isArray(value) ? value.length : 0);
  const linear = (self, given) => {
    let all = size(self);
    for (let at = 0; at < given.length; at += 1) all += size(given[at]);
    return all / 16;
  };
  const { isPrototypeOf } = Object.prototype;
  const kinds = [[Map.prototype, sizeOf], [Set.prototype, sizeOfSet]];
  const texts = (self, given) => {
    let all = typeof self === "string" ? self.length : 0;
    for (let at = 0; at < given.length; at += 1) {
      if (typeof given[at] === "string") all += given[at].length;
    }
    return (all > 256 ? 2 + all / 16 : 2) + given.length / 4;
  };
  // How many a map or a set has; undefined where it is none, and only inherits from one.
  const within = (kind, count, value) => {
    if (!apply(isPrototypeOf, kind, [value])) return undefined;
    try {
      return apply(count, value, []);
    } catch {
      return undefined;
    }
  };
  const many = (value) => {
    for (const [kind, count] of kinds) {
      const length = within(kind, count, value);
      if (length !== undefined) return length;
    }
    return 0;
  };
  const own_ = (object, key, value) =>
    defineProperty(object, key, { value, writable: true, configurable: true });
  const priced = new Set();
  const { add: mark, has: isMarked } = Set.prototype;
  // Puts something before a function, which may change what it is given, and something behind it.
  const wrapped = (object, key, before, after) => {
    const { value: inner } = getOwnPropertyDescriptor(object, key);
    const outer = after === undefined
      ? { [key](...given) {
        return apply(inner, before(this, given), given);
      } }[key]
      : { [key](...given) {
        return after(apply(inner, before(this, given), given));
      } }[key];
    own_(object, key, outer);
    apply(mark, priced, [outer]);
  };
  const paid = (cost) => (self, given) => {
    charge(cost(self, given));
    return self;
  };
  const asText = (value) =>
    typeof value === "string" || value === null || value === undefined ? value : Text(value);
  // Looks for one text in another, in the worst case letter by letter at each place.
  const search = (given, self) => {
    const what = given[0];
    if (typeof what === "object" && what !== null && !(what instanceof RegExp)) {
      given[0] = Text(what);
    }
    const [all, part] = [size(self), size(given[0])];
    return 3 + all / 64 + (part > 32 && all > part ? ((all - part) * part) / 64 : 0);
  };
  for (const key of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
    wrapped(Text.prototype, key, (self, given) => {
      const text = asText(self);
      charge(search(given, text));
      return text;
    });
  }
  for (const key of ["toLowerCase", "toUpperCase", "trim", "trimStart", "trimEnd",
    "slice", "substring", "substr", "concat", "toWellFormed", "isWellFormed", "match",
    "matchAll", "search", "startsWith", "endsWith"]) {
    wrapped(Text.prototype, key, paid((self, given) => 3 + linear(self, given)));
  }
  for (const key of ["normalize", "localeCompare"]) {
    wrapped(Text.prototype, key, paid((self, given) => 5 + linear(self, given) * 20));
  }
  wrapped(Text, "raw", (self, given) => {
    const what = given[0];
    const raw = what === null || what === undefined ? undefined : what.raw;
    charge(5 + given.length);
    given[0] = { __proto__: null, raw: typeof raw === "string" || isArray(raw) ? raw : list(raw, []) };
    charge(size(raw) / 4);
    return self;
  });
  for (const key of ["toString", "toFixed", "toPrecision", "toExponential", "toLocaleString"]) {
    wrapped(Number.prototype, key, paid(() => 15));
  }
  for (const key of ["repeat", "padStart", "padEnd"]) {
    wrapped(Text.prototype, key, (self, given) => {
      given[0] = +number(given[0]);
      charge(3 + (key === "repeat" ? size(self) * given[0] : given[0]) / 16);
      return self;
    });
  }
  const most = 2 ** 25;
  const list = (self, given) => {
    if (typeof self !== "string" && !isArray(self)) {
      const length = typeof self === "object" && self !== null
        ? getOwnPropertyDescriptor(self, "length") : undefined;
      if (length === undefined || typeof length.value !== "number") {
        throw new TypeError("a list is needed here");
      }
      if (length.value > most) throw new RangeError("the list is too long");
      charge(5 + length.value / 16);
      return self;
    }
    if (self.length > most) throw new RangeError("the list is too long");
    charge(5 + linear(self, given));
    return self;
  };
  for (const key of ["slice", "shift", "forEach", "map", "filter", "some", "every", "reduce", "reduceRight", "find", "findIndex",
    "findLast", "findLastIndex", "flatMap", "toLocaleString"]) {
    wrapped(Array.prototype, key, list);
  }
  // These move one element after the other.
  for (const key of ["splice", "reverse", "toReversed", "toSpliced", "with", "fill", "copyWithin",
    "unshift"]) {
    wrapped(Array.prototype, key, (self, given) => {
      charge(size(self));
      return list(self, given);
    });
  }
  // A text is compared with each of a list.
  for (const key of ["indexOf", "lastIndexOf", "includes"]) {
    wrapped(Array.prototype, key, (self, given) => {
      const what = given[0];
      if (typeof what === "string" && what.length > 32) charge(size(self) * what.length / 64);
      return list(self, given);
    });
  }
  for (const key of ["sort", "toSorted"]) {
    wrapped(Array.prototype, key, (self, given) => {
      list(self, given);
      const length = size(self);
      const turns = Math_log2(length + 2);
      let letters = 0;
      if (given[0] === undefined) {
        for (let at = 0; at < length; at += 1) {
          const one = self[at];
          letters += typeof one === "string" ? one.length : 4;
        }
      }
      charge((length + letters / 16) * turns / 4);
      return self;
    });
  }
  wrapped(Array.prototype, "join", list, sized);
  wrapped(Array.prototype, "toString", (self, given) => (isArray(self) ? list(self, given) : self), sized);
  // These two go through lists within lists, or ask an object what it is: here they are loops.
  own_(Array.prototype, "concat", { concat(...more) {
    const all = [];
    const add = (value) => {
      if (!isArray(value)) {
        all[all.length] = value;
        return;
      }
      for (let at = 0; at < value.length; at += 1) {
        all[all.length] = value[at];
        if (at % 1000 === 999) charge(100);
      }
    };
    charge(5);
    add(this);
    for (let at = 0; at < more.length; at += 1) add(more[at]);
    return all;
  } }.concat);
  own_(Array.prototype, "flat", { flat(depth = 1) {
    const all = [];
    let rounds = 0;
    const add = (value, left) => {
      for (let at = 0; at < value.length; at += 1) {
        rounds += 1;
        if (rounds % 1000 === 0) charge(1000);
        if (left > 0 && isArray(value[at])) add(value[at], left - 1);
        else if (at in value) all[all.length] = value[at];
      }
    };
    add(list(this, []), Number(depth));
    return all;
  } }.flat);
  // What goes through all of an object, whose size is known only then.
  const whole = (object, key, before) => {
    const { value: inner } = getOwnPropertyDescriptor(object, key);
    const outer = { [key](...given) {
      awaited(given[0]);
      charge(20 + size(given[0]) / 2);
      if (typeof given[0] === "object" && given[0] !== null && !isArray(given[0])) properties(given[0]);
      const made = apply(inner, this, before === undefined ? given : before(given));
      if (isArray(made)) charge(made.length);
      else if (typeof made === "object" && made !== null) charge(properties(made).length * 2);
      return made;
    } }[key];
    own_(object, key, outer);
    apply(mark, priced, [outer]);
  };
  // What is made of pairs gets pairs that nothing changes between the look at them and their use.
  const pairs = (given) => {
    const list = isArray(given[0]) ? given[0] : [...given[0]];
    const clean = [];
    for (let at = 0; at < list.length; at += 1) {
      const pair = list[at];
      if (typeof pair !== "object" || pair === null) throw new TypeError("a list of pairs is needed here");
      clean[at] = [key(pair[0]), pair[1]];
    }
    given[0] = clean;
    return given;
  };
  const grouped = (look) => (given) => {
    const by = given[1];
    if (typeof by === "function") given[1] = (...one) => look(apply(by, undefined, one));
    return given;
  };
  whole(Object, "fromEntries", pairs);
  whole(Object, "groupBy", grouped(key));
  for (const key of ["keys", "values", "entries", "freeze", "seal",
    "isFrozen", "isSealed", "getOwnPropertyNames", "getOwnPropertySymbols", "getOwnPropertyDescriptors"]) {
    whole(Object, key);
  }
  whole(Map, "groupBy", grouped((value) => {
    entry(value);
    return value;
  }));
  whole(Array, "from");
  whole(Array, "of");
  whole(Reflect, "ownKeys");
  wrapped(JSON, "parse", (self, given) => {
    given[0] = json(typeof given[0] === "string" ? given[0] : Text(given[0]));
    charge(20 + size(given[0]) / 2);
    return self;
  });
  own_(JSON, "stringify", { stringify(value, replacer, space) {
    charge(5);
    const text = write(value, true);
    if (text === undefined || (replacer === undefined && space === undefined)) return text;
    return stringify(parse(text), replacer, space);
  } }.stringify);
  for (const key of ["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape",
    "unescape", "parseFloat", "parseInt"]) {
    wrapped(top, key, (self, given) => {
      given[0] = asText(given[0]);
      charge(3 + linear(self, given));
      return self;
    });
  }
  const members = (value) => {
    const count = many(value);
    const each = within(setProto, sizeOfSet, value) === undefined ? eachEntry : eachValue;
    if (count > few) apply(each, value, [(_, key) => entry(key)]);
    return count;
  };
  const made_ = (value) => {
    if (typeof value === "object") members(value);
    return value;
  };
  for (const key of ["union", "intersection", "difference", "symmetricDifference", "isSubsetOf",
    "isSupersetOf", "isDisjointFrom"]) {
    wrapped(Set.prototype, key,
      paid((self, [other]) => 5 + (members(self) + members(other)) * 4), made_);
  }
  // Functions that are called with a list of what they are given.
  const handed = (given) => {
    if (isArray(given)) return given.length / 2;
    if (given === undefined || given === null) return 0;
    const length = typeof given === "object" ? getOwnPropertyDescriptor(given, "length") : undefined;
    if (length === undefined || typeof length.value !== "number") throw new TypeError("a list is needed here");
    return length.value / 4;
  };
  wrapped(getPrototypeOf(charge), "apply", paid((self, given) => 3 + handed(given[1])));
  wrapped(Reflect, "apply", paid((self, given) => 3 + handed(given[2])));
  wrapped(Reflect, "construct", (self, given) => {
    charge(20 + handed(given[1]));
    if (given.length > 2) base(given[2]);
    return self;
  });
  // A pattern is paid for by what it has gone through. One that may try many ways tries up to ten thousand
  // before the engine counts them.
  const risks = new WeakMap();
  const { get: risk, set: keepRisk } = WeakMap.prototype;
  const { get: sourceOf } = getOwnPropertyDescriptor(RegExp.prototype, "source");
  const nested = new RegExp("\\)[*+{]|\\\\[1-9k]|\\(\\?<?[=!]");
  const { exec } = RegExp.prototype;
  const riskOf = (pattern) => {
    let known = apply(risk, risks, [pattern]);
    if (known !== undefined) return known;
    const source = apply(sourceOf, pattern, []);
    if (apply(exec, nested, [source]) !== null) known = 3;
    else {
      known = 0;
      for (let at = 0; at < source.length && known < 3; at += 1) {
        if (source[at] === "*" || source[at] === "+" || source[at] === "{") known += 1;
      }
    }
    apply(keepRisk, risks, [pattern, known]);
    return known;
  };
  const ways = (known, length) => {
    if (known < 2) return 0;
    if (known > 2) return length < 12 ? 2 ** length / 16 : 500;
    return length > 90 ? 500 : length * length / 16;
  };
  own_(RegExp.prototype, "exec", { exec(given) {
    const text = typeof given === "string" ? given : Text(given);
    const from = this.lastIndex;
    const found = apply(exec, this, [text]);
    let gone = text.length;
    if (found !== null) gone = found.index + found[0].length;
    if (typeof from === "number" && from < gone) gone -= from;
    charge(3 + gone / 16 + ways(riskOf(this), gone));
    return found;
  } }.exec);
  apply(mark, priced, [RegExp.prototype.exec]);

  // Iterators that stand on others: the engine goes through all of them without a look at its stack.
  const levels = new WeakMap();
  for (const [object, names] of [
    [Iterator.prototype, ["map", "filter", "take", "drop", "flatMap", "chunks", "windows"]],
    [Iterator, ["from", "concat"]],
  ]) {
    for (const name of names) {
      const found = getOwnPropertyDescriptor(object, name);
      if (found === undefined) continue;
      const inner = found.value;
      own_(object, name, { [name](...given) {
        charge(10 + given.length);
        let level = 0;
        for (let at = -1; at < given.length; at += 1) {
          const from = at < 0 ? this : given[at];
          if (typeof from !== "object" || from === null) continue;
          const known = apply(risk, levels, [from]);
          if (known !== undefined && known >= level) level = known + 1;
        }
        if (level > 50) throw new RangeError("iterators stand on too many others");
        const made = apply(inner, this, given);
        apply(keepRisk, levels, [made, level]);
        return made;
      } }[name]);
      apply(mark, priced, [object[name]]);
    }
  }
  delete Iterator.zip;
  delete Iterator.zipKeyed;

  // Classes of the library, where making one is work.
  const dear = (name, before) => {
    const Inner = top[name];
    const outer = { [name]: function (...given) {
      before(given);
      if (new.target === undefined) return apply(Inner, undefined, given);
      return construct(Inner, given, new.target === outer ? Inner : new.target);
    } }[name];
    for (const key of ownKeys(Inner)) {
      if (key !== "prototype") defineProperty(outer, key, getOwnPropertyDescriptor(Inner, key));
    }
    defineProperty(outer, "prototype", { value: Inner.prototype, writable: false });
    own_(Inner.prototype, "constructor", outer);
    setPrototypeOf(outer, getPrototypeOf(Inner));
    own_(top, name, outer);
    apply(mark, priced, [outer]);
    return outer;
  };
  for (const name of ["Map", "Set", "WeakMap", "WeakSet"]) {
    dear(name, ([value]) => charge(20 + (size(value) + many(value)) * 3));
  }
  for (const [kind, names] of [
    [Map, ["get", "set", "has", "delete"]],
    [Set, ["add", "has", "delete"]],
  ]) {
    for (const name of names) {
      wrapped(kind.prototype, name, paid((self, given) => {
        entry(given[0]);
        return 8 + texts(self, given);
      }));
    }
  }
  wrapped(Date, "parse", paid(() => 20));
  dear("Date", () => charge(20));
  // Classes of letters take long to make.
  dear("RegExp", (given) => {
    const [value, flags] = given;
    let classes = flags === undefined ? 0 : 3;
    if (typeof value === "string") {
      for (let at = 0; at < value.length; at += 1) {
        if (value[at] === "p" || value[at] === "P") classes += 10;
      }
    }
    charge(100 + size(value) * 4 + classes * 100);
  });
  dear("Number", (given) => {
    if (given.length > 0) given[0] = number(given[0]);
    charge(1);
  });
  const errors = ["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError",
    "AggregateError"];
  const AnyError = dear("Error", (given) => charge(20 + linear(undefined, given)));
  for (const name of errors) {
    const made = dear(name, (given) => charge(20 + linear(undefined, given)));
    setPrototypeOf(made, AnyError);
  }
  own_(Promise.prototype, "then", { then(good, bad) {
    charge(5);
    const look = typeof bad !== "function" ? bad : (error) => {
      caught(error);
      return apply(bad, undefined, [error]);
    };
    return apply(then, this, [good, look]);
  } }.then);
  apply(mark, priced, [Promise.prototype.then]);
  for (const name of ["all", "allSettled", "any", "race"]) {
    wrapped(Promise, name, paid((self, [value]) => 5 + size(value) + many(value)));
  }
  wrapped(Object, "create", (self, [value]) => {
    charge(2);
    proto(value);
    return self;
  });
  for (const object of [Object, Reflect]) {
    const { setPrototypeOf } = object;
    own_(object, "setPrototypeOf", { setPrototypeOf(value, to) {
      charge(2);
      if (to !== null && getPrototypeOf(value) !== to) {
        throw new TypeError("the prototype of an object cannot be changed");
      }
      return setPrototypeOf(value, to);
    } }.setPrototypeOf);
    apply(mark, priced, [object.setPrototypeOf]);
  }
  // What a generator makes inherits from its key `prototype`, which is not changed either.
  const fixed = (target, key) => {
    if (typeof target === "function" && key === "prototype") {
      throw new TypeError("the prototype of a function can only be set by an assignment");
    }
  };
  wrapped(Object, "assign", (self, given) => {
    charge(5);
    for (let at = 1; at < given.length; at += 1) {
      const from = given[at];
      if (typeof from !== "object" && typeof from !== "function" || from === null) continue;
      charge(properties(from).length * 2);
      if (typeof given[0] === "function" && apply(hasOwn, undefined, [from, "prototype"])) {
        fixed(given[0], "prototype");
      }
    }
    return self;
  });
  for (const object of [Object, Reflect]) {
    wrapped(object, "defineProperty", (self, given) => {
      charge(5);
      given[1] = key(given[1]);
      fixed(given[0], given[1]);
      return self;
    });
  }
  wrapped(Object, "defineProperties", (self, given) => {
    charge(5 + properties(given[1]).length);
    if (apply(hasOwn, undefined, [given[1], "prototype"])) fixed(given[0], "prototype");
    return self;
  });
  wrapped(Reflect, "set", (self, given) => {
    charge(2);
    given[1] = key(given[1]);
    fixed(given[given.length > 3 ? 3 : 0], given[1]);
    return self;
  });
  for (const [object, names, at] of [
    [Object, ["hasOwn", "getOwnPropertyDescriptor"], 1],
    [Reflect, ["has", "get", "deleteProperty", "getOwnPropertyDescriptor"], 1],
    [Object.prototype, ["hasOwnProperty", "propertyIsEnumerable"], 0],
    [Symbol, ["for"], 0],
  ]) {
    for (const name of names) {
      wrapped(object, name, (self, given) => {
        given[at] = key(given[at]);
        charge(texts(self, given));
        return self;
      });
    }
  }
  // All others, by the texts that they are given.
  for (const key of ownKeys(Math)) {
    if (typeof Math[key] !== "function") continue;
    wrapped(Math, key, (self, given) => {
      for (let at = 0; at < given.length; at += 1) {
        if (typeof given[at] !== "number") given[at] = number(given[at]);
      }
      charge(1);
      return self;
    });
  }
  const small = ["push", "pop", "at", "next", "charAt", "charCodeAt", "codePointAt", "call", "bind"];
  for (const name of library) {
    const object = top[name];
    if (typeof object !== "object" && typeof object !== "function" || object === null) continue;
    for (const from of [object, object.prototype, top]) {
      if (typeof from !== "object" && typeof from !== "function" || from === null) continue;
      for (const key of from === top ? [name] : ownKeys(from)) {
        const { value, configurable } = getOwnPropertyDescriptor(from, key);
        if (typeof value !== "function" || !configurable || apply(isMarked, priced, [value])) continue;
        if (key === "constructor" || getOwnPropertyDescriptor(value, "prototype") !== undefined) continue;
        if (typeof key === "symbol" || apply(includes, small, [key])) continue;
        wrapped(from, key, paid(texts));
      }
    }
  }

  // What a function is made of is not shown either.
  own_(getPrototypeOf(function () {}), "toString", { toString() {
    if (typeof this !== "function") throw new TypeError("a function is needed here");
    charge(2);
    return "function" + called(this) + "() { [code] }";
  } }.toString);

  // Tools.
  const settle = { __proto__: null };
  const own = { __proto__: null };
  const plainName = new RegExp("^[A-Za-z_$][\\w$]*$");
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at];
    const place = apply(exec, plainName, [name]) !== null ? "." + name : "[" + stringify(name) + "]";
    const missing = "await is missing before tools" + place + "(...)";
    own[name] = function (given) {
      return promised(missing, (resolve, reject) => {
        const object = given === undefined ? {} : given;
        if (typeof object !== "object" || object === null || isArray(object)) {
          throw named("ToolArguments", "the tool " + name + " takes one object");
        }
        const text = written(object);
        const id = call(name, text);
        if (id === undefined) end();
        settle[id] = { __proto__: null, name, resolve, reject };
      });
    };
  }
  const tools = new Guard(freeze(own), {
    __proto__: null,
    get(target, key) {
      if (typeof key === "symbol" || key in target) return target[key];
      if (key === "then" || key === "toJSON") return undefined;
      throw named("UnknownTool", "there is no tool " + key);
    },
  });

  // The rest of what a program is given.
  const data = parse(dataText);
  const memory = parse(memoryText);
  const before = written(memory);
  const say = (...values) => {
    let line = "";
    for (let at = 0; at < values.length; at += 1) line += (at > 0 ? " " : "") + shown(values[at]);
    if (print(apply(toWellFormed, line, []))) end();
  };
  const console = freeze({
    __proto__: null, log: say, info: say, warn: say, error: say, debug: say,
  });
  const giveUp = (reason) => {
    fail(written(reason));
    end();
  };

  const given = freeze({
    __proto__: null, tick, sized, spread, caught, rounds, key, strictKey, number, proto, base, made,
  });
  let state = 0, result, last;
  const ended = {};
  top.__windlass = freeze({
    __proto__: null,
    begin(program) {
      const end = (value) => {
        last = value;
        return ended;
      };
      const main = program(tools, data, memory, say, console, giveUp, end, given)();
      const done = (value) => { state = 1; result = value; };
      const broken = (error) => { state = 2; result = error; };
      apply(then, main, [done, broken]);
    },
    give(id, good, text) {
      const { name, resolve, reject } = settle[id];
      delete settle[id];
      if (!good) {
        const error = named("ToolError", text);
        own_(error, "tool", name);
        return reject(error);
      }
      let value = text;
      try {
        value = parse(text);
      } catch (error) {
        if (error.message === "out of memory") throw error;
      }
      resolve(value);
    },
    giveText(id, text) {
      const { resolve } = settle[id];
      delete settle[id];
      resolve(text);
    },
    // 0: it waits, 1: it has ended, 2: it threw, 3: what nobody has looked at failed.
    state: () => (state !== 2 && apply(sizeOf, unheeded, []) > 0 ? 3 : state),
    returned: () => result !== ended,
    thrown: () =>
      state === 2 ? result : apply(next, apply(values, unheeded, []), []).value,
    shown,
    rejected,
    value: () => written(result === ended ? last : result),
    memory: () => {
      const after = written(memory);
      return after === before ? null : after;
    },
    before: () => before,
  });
})
