"""gymnasium-robotics: steps per second of sparse goal envs with random actions; single and vectorised."""
import _common as C

p = C.parser(__doc__, repeats=5)
p.add_argument("--ids", nargs="+", default=["FetchReach-v4", "PointMaze_UMaze-v3", "AntMaze_UMaze-v5"])
p.add_argument("--steps", type=int, default=600)
p.add_argument("--vec", type=int, default=16)
p.add_argument("--procs", type=int, default=2)
p.add_argument("--profile", action="store_true")
a = p.parse_args()
C.set_threads(a.threads)
import warnings

warnings.filterwarnings("ignore")
import gymnasium as gym
import gymnasium_robotics

gym.register_envs(gymnasium_robotics)
figures, prof, facts = {}, {}, {}
if __name__ == "__main__":
    for i in a.ids:
        env = gym.make(i)
        env.reset(seed=a.seed)
        u = env.unwrapped
        frames = getattr(u, "n_substeps", None) or getattr(getattr(u, "point_env", None) or getattr(u, "ant_env", None), "frame_skip", None)
        facts[i] = {"mj_steps_per_env_step": frames, "spec": i}
        env.action_space.seed(a.seed)
        acts = [env.action_space.sample() for _ in range(a.steps)]

        def single():
            for x in acts:
                _, _, te, tr, _ = env.step(x)
                if te or tr:
                    env.reset()

        figures[f"{i}/single"] = C.measure(single, a.repeats, a.steps)
        if a.profile:
            prof[i] = C.profile(single)
        for kind, n in (("sync", a.vec), ("async", a.procs)):
            cls = gym.vector.SyncVectorEnv if kind == "sync" else gym.vector.AsyncVectorEnv
            v = cls([lambda i=i: gym.make(i)] * n)
            v.reset(seed=a.seed)
            k = max(20, a.steps // n)
            v.action_space.seed(a.seed)
            va = [v.action_space.sample() for _ in range(k)]

            def vec():
                for x in va:
                    v.step(x)

            figures[f"{i}/{kind}{n}"] = C.measure(vec, a.repeats, k * n)
            v.close()
    C.emit("gymnasium-robotics", figures, ("gymnasium-robotics", "mujoco", "gymnasium", "numpy"), facts=facts, profile_own_cum=prof or None)
