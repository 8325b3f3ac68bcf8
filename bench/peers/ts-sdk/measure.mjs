// What either TypeScript client does: calls of `add`, so many in flight, each sum checked, and a line of JSON.

// `http URL REVISION CALLS IN_FLIGHT`, or `stdio REVISION CALLS IN_FLIGHT -- COMMAND...`.
export function asked() {
    const [over, ...words] = process.argv.slice(2);
    const url = over === 'http' ? words.shift() : undefined;
    const [revision, calls, inFlight, , command, ...args] = words;
    return { url, pipe: { command, args }, revision, calls: Number(calls), inFlight: Number(inFlight) };
}

async function work(add, calls, inFlight) {
    let next = 0;
    const latencies = [];
    const lane = async () => {
        while (next < calls) {
            const number = next++;
            const [a, b] = [100 + (number % 900), 1000 + (number % 7)];
            const began = performance.now();
            const sum = await add(a, b);
            latencies.push(performance.now() - began);
            if (sum !== a + b) throw new Error(`${a} and ${b} are not ${sum}`);
        }
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
    return latencies;
}

export async function measure(add, calls, inFlight) {
    await work(add, Math.floor(calls / 10), inFlight);
    const [began, before] = [performance.now(), process.cpuUsage()];
    const latencies = (await work(add, calls, inFlight)).sort((x, y) => x - y);
    const [took, spent] = [(performance.now() - began) / 1e3, process.cpuUsage(before)];
    const at = (share) => latencies[Math.floor((latencies.length - 1) * share)] * 1e3;
    const figures = { calls: latencies.length, wrong: 0, seconds: took, cpu_seconds: (spent.user + spent.system) / 1e6 };
    console.log(JSON.stringify({ ...figures, p50_us: at(0.5), p99_us: at(0.99), p999_us: at(0.999) }));
}
