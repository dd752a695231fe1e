// Where the parts of a network are drawn: a lane for each path, a column for each place on a path; a link that several
// paths cross is between their lanes.

const WIDE = 860;
const NARROW = 430;
const LANE = 62;
const MOST = 10;

export function layout(data, room) {
  const whole = room < 600 ? NARROW : WIDE;
  const side = room < 600 ? 76 : 96;
  const links = data.link ?? {};
  const used = [];
  for (const connection of Object.values(data.connection ?? {}))
    for (const name of Array.isArray(connection.paths) ? connection.paths : []) if (!used.includes(name)) used.push(name);
  for (const name of Object.keys(links)) {
    const crossed = used.some((path) => name === path || data.path?.[path]?.links?.includes(name));
    if (!crossed) used.push(name);
  }
  const paths = used
    .map((name) => ({ name, links: (data.path?.[name]?.links ?? [name]).filter((each) => each in links) }))
    .filter((path) => path.links.length);
  const shown = paths.slice(0, MOST);
  const columns = Math.max(1, ...shown.map((path) => path.links.length));
  const height = Math.max(150, shown.length * LANE + 30);
  const pipes = new Map();
  shown.forEach((path, lane) => {
    path.lane = lane;
    path.links.forEach((name, at) => {
      const held = pipes.get(name) ?? { name, lanes: [], column: 0 };
      held.lanes.push(lane);
      // A path with fewer links than others: its links are spread over the columns.
      held.column = Math.max(held.column, path.links.length === 1 ? (columns - 1) / 2 : (at * (columns - 1)) / (path.links.length - 1));
      pipes.set(name, held);
    });
  });
  const each = (whole - 2 * side) / columns;
  for (const pipe of pipes.values()) {
    const lane = pipe.lanes.reduce((sum, each) => sum + each, 0) / pipe.lanes.length;
    pipe.y = 15 + LANE * (lane + 0.5) + (height - 30 - shown.length * LANE) / 2;
    const middle = side + each * (pipe.column + 0.5);
    pipe.from = middle - each * 0.34;
    pipe.to = middle + each * 0.34;
  }
  const centre = height / 2;
  const [left, right] = [side - 34, whole - side + 34];
  for (const path of shown) path.points = pointsOf(path, pipes, [left, centre], [right, centre]);
  return { width: whole, height, pipes: [...pipes.values()], paths: shown, left, right, centre, more: paths.length - shown.length };
}

/** The way from the client to the server, as corners. */
function pointsOf(path, pipes, client, server) {
  const points = [client];
  for (const name of path.links) {
    const pipe = pipes.get(name);
    points.push([pipe.from, pipe.y], [pipe.to, pipe.y]);
  }
  points.push(server);
  return points;
}

/** Where a part (0 to 1) of the way is. */
export function along(points, part) {
  const lengths = [];
  let whole = 0;
  for (let at = 1; at < points.length; at += 1) {
    const length = Math.hypot(points[at][0] - points[at - 1][0], points[at][1] - points[at - 1][1]);
    lengths.push(length);
    whole += length;
  }
  let left = Math.max(0, Math.min(1, part)) * whole;
  for (let at = 0; at < lengths.length; at += 1) {
    if (left <= lengths[at] || at === lengths.length - 1) {
      const share = lengths[at] ? left / lengths[at] : 0;
      const [one, other] = [points[at], points[at + 1]];
      return [one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share];
    }
    left -= lengths[at];
  }
  return points.at(-1);
}
