"""NAVIX (JAX MiniGrid): environment steps per second on the CPU, jit, batched with vmap and scanned; compile time apart."""
import _common as C

p = C.parser(__doc__, repeats=5)
p.add_argument("--ids", nargs="+", default=["Navix-DoorKey-8x8-v0", "Navix-Empty-8x8-v0"])
p.add_argument("--batch", type=int, nargs="+", default=[1024])
p.add_argument("--steps", type=int, default=64, help="steps scanned inside one jit call")
p.add_argument("--obs", default="symbolic", choices=["symbolic", "symbolic_first_person"], help="whole grid, or the 7x7 view that MiniGrid has")
a = p.parse_args()
C.set_threads(a.threads, pin=True)
import time

import jax
import navix as nx

figures, compile_s, failed = {}, {}, {}
for i in a.ids:
    try:
        env = nx.make(i, observation_fn=getattr(nx.observations, a.obs))
        na = getattr(env.action_space, "n", None) or 7
        for B in a.batch:
            @jax.jit
            def roll(ts, key):
                def one(ts, k):
                    act = jax.random.randint(k, (B,), 0, int(na))
                    ts = jax.vmap(env.step)(ts, act)
                    return ts, (ts.observation.sum(), ts.reward.sum())  # read, so that no step's observation is dropped
                return jax.lax.scan(one, ts, jax.random.split(key, a.steps))
            key = jax.random.PRNGKey(a.seed)
            ts = jax.jit(jax.vmap(env.reset))(jax.random.split(key, B))
            t = time.perf_counter()
            jax.block_until_ready(roll(ts, key))
            compile_s[f"{i}/b{B}"] = time.perf_counter() - t
            figures[f"{i}/b{B}"] = C.measure(lambda: jax.block_until_ready(roll(ts, key)), a.repeats, B * a.steps)
    except Exception as e:
        failed[i] = f"{type(e).__name__}: {e}"[:300]
C.emit("navix", figures, ("navix", "jax", "numpy"), obs=a.obs, first_call_s=compile_s, failed=failed)
