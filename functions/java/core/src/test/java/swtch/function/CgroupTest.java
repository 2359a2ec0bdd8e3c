package swtch.function;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CgroupTest {
    @TempDir
    Path root;

    private void tree(Map<String, String> files) throws IOException {
        for (var file : files.entrySet()) {
            Path path = root.resolve(file.getKey());
            java.nio.file.Files.createDirectories(path.getParent());
            java.nio.file.Files.writeString(path, file.getValue());
        }
    }

    @Test
    void version1HasTheQuotaOfTheGroupAbove() throws IOException {
        tree(Map.of(
                "proc/self/cgroup", "2:cpu,cpuacct:/tier/inner\n0::/\n",
                "proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
                "sys/fs/cgroup/cpu/tier/cpu.cfs_period_us", "20000\n",
                "sys/fs/cgroup/cpu/tier/cpu.cfs_quota_us", "1667\n",
                "sys/fs/cgroup/cpu/tier/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 70\n",
                "sys/fs/cgroup/cpu/tier/inner/cpu.cfs_period_us", "100000\n",
                "sys/fs/cgroup/cpu/tier/inner/cpu.cfs_quota_us", "-1\n"));
        Map<String, Object> quota = Cgroup.quota(root);
        assertEquals(20_000_000L, quota.get("period_ns"));
        assertEquals(1_667_000L, quota.get("quota_ns"));
        assertEquals(3L, quota.get("periods_throttled"));
    }

    @Test
    void version2InAContainerBeginsAtItsOwnGroup() throws IOException {
        tree(Map.of(
                "proc/self/cgroup", "0::/kubepods/pod/function\n",
                "proc/self/mountinfo", "31 25 0:27 /kubepods/pod/function /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                "sys/fs/cgroup/cpu.max", "8333 100000\n",
                "sys/fs/cgroup/cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 4\nthrottled_usec 12\n",
                "sys/fs/cgroup/memory.max", "134217728\n"));
        Map<String, Object> quota = Cgroup.quota(root);
        assertEquals(8_333_000L, quota.get("quota_ns"));
        assertEquals(12_000L, quota.get("throttled_ns"));
        assertEquals(128L << 20, Cgroup.memoryLimit(root));
    }

    @Test
    void noLimitIsNotANumber() throws IOException {
        assertNull(Cgroup.quota(root));
        tree(Map.of(
                "proc/self/cgroup", "0::/\n",
                "proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                "sys/fs/cgroup/cpu.max", "max 100000\n",
                "sys/fs/cgroup/memory.max", "max\n"));
        assertNull(Cgroup.quota(root).get("quota_ns"));
        assertNull(Cgroup.memoryLimit(root));
    }
}
