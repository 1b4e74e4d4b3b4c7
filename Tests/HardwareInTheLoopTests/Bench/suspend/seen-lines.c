// SPDX-License-Identifier: GPL-2.0
// A GPIO chip whose lines are seen from outside the machine. Each change of a level is a byte that is written to an I/O
// port, where QEMU's isa-debugcon passes it to the host: 0x40, plus two for each line before this one, plus the level. A line
// that is let go of keeps its level, as on a Raspberry Pi.

#include <linux/gpio/driver.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/version.h>

#define PORT 0x5e0
#define LINES 2

static const char *const names[LINES] = { "gps-power", "spare-power" };
static struct platform_device *device;
static unsigned long levels;

static int direction(struct gpio_chip *chip, unsigned int line)
{
	return GPIO_LINE_DIRECTION_OUT;
}

static int get(struct gpio_chip *chip, unsigned int line)
{
	return test_bit(line, &levels);
}

static int put(struct gpio_chip *chip, unsigned int line, int level)
{
	assign_bit(line, &levels, level);
	outb(0x40 + 2 * line + !!level, PORT);
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
static void set(struct gpio_chip *chip, unsigned int line, int level)
{
	put(chip, line, level);
}
#else
#define set put
#endif

static struct gpio_chip lines = {
	.label = "seen-lines",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = LINES,
	.names = names,
	.get_direction = direction,
	.direction_output = put,
	.get = get,
	.set = set,
};

static int __init seen_lines_init(void)
{
	int error;
	unsigned int line;

	device = platform_device_register_simple("seen-lines", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	lines.parent = &device->dev;
	for (line = 0; line < LINES; line++)
		put(&lines, line, 0);
	error = gpiochip_add_data(&lines, NULL);
	if (error)
		platform_device_unregister(device);
	return error;
}

static void __exit seen_lines_exit(void)
{
	gpiochip_remove(&lines);
	platform_device_unregister(device);
}

module_init(seen_lines_init);
module_exit(seen_lines_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("GPIO lines that are seen from outside a virtual machine, for tests");
