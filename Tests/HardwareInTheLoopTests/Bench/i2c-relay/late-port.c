// SPDX-License-Identifier: GPL-2.0
// The kind of devices `ttyUSB`, which the kernel does not know before this is loaded: so it is with usbserial, which usually comes
// with the first adapter that is plugged in. Its one device opens, and that is all.

#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/module.h>

static dev_t number;
static struct cdev port;

static const struct file_operations operations = {
	.owner = THIS_MODULE,
};

static int __init late_port_init(void)
{
	int error = alloc_chrdev_region(&number, 0, 1, "ttyUSB");

	if (error)
		return error;
	cdev_init(&port, &operations);
	port.owner = THIS_MODULE;
	error = cdev_add(&port, number, 1);
	if (error)
		unregister_chrdev_region(number, 1);
	return error;
}

static void __exit late_port_exit(void)
{
	cdev_del(&port);
	unregister_chrdev_region(number, 1);
}

module_init(late_port_init);
module_exit(late_port_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a kind of devices that comes late, for tests");
